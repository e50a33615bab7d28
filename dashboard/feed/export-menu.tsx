import { Braces, FileUp, Table2 } from "lucide-react";
import type { ReactNode } from "react";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "../components/ui/menu.tsx";
import { useCan } from "../projects/can.ts";
import { openOverlay } from "../shell/overlays.tsx";
import { exportEvents } from "./export-events.ts";
import type { Filters } from "./filters.ts";

export type ExportMenuProps = { project: string; filters: Filters; label: string; trigger: ReactNode };

export function ExportMenu({ project, filters, label, trigger }: ExportMenuProps) {
  const mayImport = useCan()("events:send");
  return (
    <Menu trigger={trigger} defaultOpen align="end">
      <MenuLabel>{label}</MenuLabel>
      <MenuItem onSelect={() => void exportEvents(project, filters, "csv")}>
        <Table2 aria-hidden />
        CSV, with a column for each tag
      </MenuItem>
      <MenuItem onSelect={() => void exportEvents(project, filters, "ndjson")}>
        <Braces aria-hidden />
        NDJSON, a line for each event
      </MenuItem>
      {mayImport && (
        <>
          <MenuSeparator />
          <MenuItem onSelect={() => openOverlay("import")}>
            <FileUp aria-hidden />
            Import events…
          </MenuItem>
        </>
      )}
    </Menu>
  );
}
