/** Targets, and how people read them: in answers, headers, logs and tables. */

/** Where a request may go: a provider instance and the model's id there. */
export interface Target {
  readonly provider: string;
  /** Empty when the request names none: no model rule matches it. */
  readonly model: string;
}

/** `provider/model`; `provider/-` for a request that names no model. */
export function targetName({ provider, model }: Target): string {
  return `${provider}/${model === "" ? "-" : model}`;
}
