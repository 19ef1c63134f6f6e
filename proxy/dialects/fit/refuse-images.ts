/**
 * Refuses images for models that can't see: without its image a request would mean something else.
 */
import { isObject } from "../../../shared/checked.js";
import type { RequestCheck } from "../shared/request-check.js";

const imageTypes: ReadonlySet<unknown> = new Set(["image_url", "image", "input_image"]);

/** `field`: the field that holds the turns, `messages` or `input`. */
export function refuseImages(turns: unknown, field: string, check: RequestCheck): void {
  if (holdsImage(turns)) check.refuse(field, "must hold no images: the model doesn't take any");
}

/** Whether the content of a turn, or a tool's result in it, has an image. */
function holdsImage(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsImage);
  if (!isObject(value)) return false;
  const { type, content, output } = value;
  return imageTypes.has(type) || holdsImage(content) || holdsImage(output);
}
