/** What the environment says of a provider that Sluice knows by name: its key, address, models. */
import { type Environment, variable } from "../environment.js";
import { modelList } from "../kinds/list-kinds.js";
import { apiKey } from "../kinds/secret-kinds.js";
import { filePath } from "../kinds/text-kinds.js";
import { baseUrl } from "../kinds/url-kinds.js";
import { kindProblem, type ValueKind } from "../kinds/value-kind.js";
import { baseUrlVariable, keyFileVariable, modelsVariable, type Preset } from "./preset.js";

/** The variables of one provider; null if unset. */
export interface Override {
  readonly apiKey: string | null;
  /** In place of it: a file that holds the key. */
  readonly apiKeyFile: string | null;
  readonly baseUrl: string | null;
  readonly models: readonly string[] | null;
}

export function readOverride(preset: Preset, env: Environment, problems: string[]): Override {
  const read = <T>(kind: ValueKind<T>, name: string): T | null => {
    const raw = variable(env, name);
    if (raw === null) return null;
    const value = kind.parse(raw);
    if (value === undefined) problems.push(kindProblem(kind, name, raw));
    return value ?? null;
  };
  const key = read(apiKey, preset.keyVariable);
  const keyFile = read(filePath, keyFileVariable(preset));
  if (key !== null && keyFile !== null)
    problems.push(
      `${preset.keyVariable} and ${keyFileVariable(preset)} are both set: keep one of them`,
    );
  return {
    apiKey: key,
    apiKeyFile: keyFile,
    baseUrl: read(baseUrl, baseUrlVariable(preset)),
    models: read(modelList, modelsVariable(preset)),
  };
}
