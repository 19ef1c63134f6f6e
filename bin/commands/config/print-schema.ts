/** `sluice config schema`: prints the JSON Schema of `sluice.yaml`, for editors. */
import type { Command } from "commander";
import { configSchema } from "../../../shared/config/config-schema.js";
import type { Session } from "../../session/terminal.js";

/** Adds `schema` to `sluice config`. */
export function addConfigSchema(config: Command, { terminal }: Session): void {
  config
    .command("schema")
    .description("print the JSON Schema of sluice.yaml, for editors and other tools")
    .action(() => terminal.out(JSON.stringify(configSchema(), null, 2)));
}
