import { PageHeader } from "../shell/page-header.tsx";

export function RulesPage() {
  return <PageHeader title="Rules" />;
}
