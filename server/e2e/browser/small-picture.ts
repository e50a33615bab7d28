import type { Page } from "playwright-core";

/** Each picture stays in the history of the repository for good, so those of the documentation are small. */
const bytesMax = 60_000;

/** A WebP of what the page shows, as good as the size allows. */
export async function smallPicture(page: Page): Promise<Buffer> {
  const chromium = await page.context().newCDPSession(page);
  for (let quality = 90; ; quality -= 5) {
    const { data } = await chromium.send("Page.captureScreenshot", { format: "webp", quality });
    const picture = Buffer.from(data, "base64");
    if (picture.length <= bytesMax) return picture;
  }
}
