/**
 * Requests as their providers publish them: `descriptions/` holds JSON schemas that `describe.py`
 * makes from the types of their SDKs, each with its source and version.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { Json, Rule } from "../clients/providers/shape.js";
import { root } from "../tidy/source-tree.js";

export type Description =
  | "chat"
  | "responses"
  | "embeddings"
  | "messages"
  | "messages-beta"
  | "google";

export interface DescribedSchema {
  readonly $comment: string;
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, object>>;
  readonly $defs: Readonly<Record<string, object>>;
}

export function readDescription(name: Description): DescribedSchema {
  const path = join(root, "test/outside/descriptions", `${name}.json`);
  return JSON.parse(readFileSync(path, "utf8")) as DescribedSchema;
}

const compiled = new Map<Description, ValidateFunction>();

/** What is wrong with a body by the description; null if it fits. */
export function describedProblem(name: Description, body: unknown): string | null {
  let validate = compiled.get(name);
  if (validate === undefined) {
    validate = new Ajv2020({
      strict: false,
      validateFormats: false,
      allErrors: false,
      verbose: true,
    }).compile(readDescription(name));
    compiled.set(name, validate);
  }
  return validate(body) ? null : `${deepest(validate.errors ?? [])} [${name} description]`;
}

/**
 * A request has the form that the provider publishes. `published`: the request as it would be if
 * clients kept to that where the provider doesn't mind.
 */
export function publishedForm(
  name: Description,
  published: (body: Json) => Json = (body) => body,
): Rule {
  return {
    source: readDescription(name).$comment,
    problem: (body) => describedProblem(name, published(body)),
  };
}

/**
 * Each variant of a union has an error; the deepest one is of the variant that was meant, which has
 * the value's own `type` and `role`.
 */
function deepest(errors: readonly ErrorObject[]): string {
  const depth = ({ instancePath }: ErrorObject): number => instancePath.split("/").length;
  const variantOf = ({ schemaPath }: ErrorObject): string =>
    /^#\/\$defs\/[^/]+/.exec(schemaPath)?.[0] ?? "";
  const others = errors
    .filter(({ instancePath }) => /\/(?:type|role)$/.test(instancePath))
    .map(variantOf);
  const meant = errors.filter((each) => !others.includes(variantOf(each)));
  const found = (meant.length > 0 ? meant : errors).reduce((best, each) =>
    depth(each) > depth(best) ? each : best,
  );
  return `${found.instancePath || "body"} ${found.message ?? ""} ${JSON.stringify(found.params)}, not ${JSON.stringify(found.data)?.slice(0, 300)}`;
}
