import { expect, test } from "bun:test";
import { publicTileData } from "./public-board.ts";

test("a public board shows open alerts without their values and without people", () => {
  const alert = {
    id: "1",
    state: "acknowledged",
    urgent: true,
    openedAt: "2026-11-26T12:00:00.000Z",
  } as const;
  const shown = publicTileData({
    type: "alerts",
    open: 1,
    alerts: [
      {
        ...alert,
        rule: "Failed sign-ins",
        title: "More than 9 in 10 minutes: Failed sign-ins (ada@example.com)",
        acknowledgedBy: "bob@example.com",
      },
    ],
  });
  expect(shown).toEqual({
    type: "alerts",
    open: 1,
    alerts: [{ ...alert, rule: "Failed sign-ins", title: "Failed sign-ins" }],
  });
});
