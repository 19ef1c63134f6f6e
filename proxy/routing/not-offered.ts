/** The failure of a request for an operation that a provider doesn't offer. */
import type { ProviderConfig } from "../../shared/config/config.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";

export function notOffered({ name }: ProviderConfig, operation: Operation): Failure {
  return invalid(`provider ${name} does not offer ${operation}`, "model");
}
