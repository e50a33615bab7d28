import { Send } from "lucide-react";
import { Button } from "../components/ui/button.tsx";
import { useTestDestination } from "./destinations.ts";

export function TestButton({ id }: { id: string }) {
  const test = useTestDestination();
  return (
    <Button busy={test.isPending} onClick={() => test.mutate(id)}>
      {!test.isPending && <Send aria-hidden className="size-3.5" />}
      Send a test
    </Button>
  );
}
