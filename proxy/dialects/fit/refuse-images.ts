/** For models that can't see: a request with an image would be another one without it. */
import { isObject } from "../../../shared/checked.js";
import type { RequestCheck } from "../shared/request-check.js";

const imageTypes: ReadonlySet<unknown> = new Set(["image_url", "image", "input_image"]);

/** `field`: of the turns, `messages` or `input`. */
export function refuseImages(turns: unknown, field: string, check: RequestCheck): void {
  if (holdsImage(turns)) check.refuse(field, "must hold no images: the model doesn't take any");
}

/** In the content of a turn, or of a tool's result in it. */
function holdsImage(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsImage);
  if (!isObject(value)) return false;
  const { type, content, output } = value;
  return imageTypes.has(type) || holdsImage(content) || holdsImage(output);
}
