import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { wordsOf } from "./words.ts";

describe("words", () => {
  const cases: [text: string, words: string[]][] = [
    ["Payment received", ["payment", "received"]],
    ["user@example.com/path-1_2", ["user", "example", "com", "path", "1", "2"]],
    ["Zahlung für Größe", ["zahlung", "fur", "große"]],
    ["CAFÉ Cafe\u0301", ["cafe", "cafe"]],
    ["Оплата ПОЛУЧЕНА", ["оплата", "получена"]],
    ["ﬁnal ①", ["final", "1"]],
    ["💰 🎉", []],
    ["", []],
  ];
  for (const [text, words] of cases)
    test(`of ${JSON.stringify(text)} are ${words.join(" ") || "none"}`, () =>
      expect(wordsOf(text)).toEqual(words));

  test("of scripts without spaces are segmented", () => {
    for (const [text, word] of [
      ["支払いを受け取りました", "支払い"],
      ["收到付款通知", "付款"],
      ["결제가 완료되었습니다", "완료되었습니다"],
      ["ได้รับการชำระเงินแล้ว", "เงิน"],
      ["تم استلام الدفع", "الدفع"],
    ] as const) {
      expect(wordsOf(text)).toContain(wordsOf(word)[0]!);
    }
  });

  test("are the same in every normalization form and case", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(wordsOf(text.normalize("NFC"))).toEqual(wordsOf(text.normalize("NFD")));
        for (const word of wordsOf(text)) expect(word).toMatch(/^[\p{L}\p{N}]+$/u);
      }),
    );
  });
});
