import { expect, test } from "bun:test";
import fc from "fast-check";
import { BoundedWriter, jsonBytes, shorten } from "./shorten.ts";

test("a text is shortened between two characters, and says so", () => {
  expect(shorten("Payment received", 16)).toBe("Payment received");
  expect(shorten("Payment received", 10)).toBe("Payment r…");
  expect(shorten("Payment received", 9)).toBe("Payment…");
  expect(shorten("💰💰💰", 4)).toBe("💰…");
  expect(shorten("💰💰💰", 2)).toBe("");
  expect(shorten("a\n💰💰", 10, jsonBytes)).toBe("a\n💰…");
});

test("a shortened text is as long as it may be", () => {
  const sizes = fc.constantFrom((text: string) => text.length, jsonBytes);
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 40 }), fc.nat(60), sizes, (text, max, sizeOf) => {
      const short = shorten(text, max, sizeOf);
      expect(sizeOf(short)).toBeLessThanOrEqual(max);
      expect(short.isWellFormed()).toBe(text.isWellFormed());
      if (sizeOf(text) <= max) expect(short).toBe(text);
      else if (short !== "") expect(text.startsWith(short.slice(0, -1))).toBe(true);
    }),
  );
});

test("markup is closed, and left out if nothing is in it", () => {
  const written = (max: number) => {
    const writer = new BoundedWriter(max);
    writer.enclose(["<u>", ""], () => {});
    writer.enclose(["<b>", "</b>"], () => writer.enclose(["<i>", "</i>"], () => writer.write("a&b", amp)));
    return writer.text;
  };
  const amp = (text: string) => text.replaceAll("&", "&amp;");
  expect(written(22)).toBe("<b><i>a&amp;b</i></b>");
  expect(written(21)).toBe("<b><i>a&amp;…</i></b>");
  expect(written(20)).toBe("<b><i>a…</i></b>");
  expect(written(15)).toBe("<b><i>…</i></b>");
  expect(written(14)).toBe("<b>…</b>");
});

test("nothing follows the ellipsis, also if it would fit, and markup without a text leaves no trace", () => {
  const writer = new BoundedWriter(6);
  writer.write("a");
  writer.enclose(["<b>", ""], () => {});
  writer.write("bcd💰");
  expect(writer.text).toBe("abcd…");
  writer.write("e");
  writer.enclose(["*", "*"], () => writer.write("e"));
  writer.enclose(["", ""], () => writer.write("e"));
  expect(writer.text).toBe("abcd…");
});
