/** The MCP servers that the file declares (docs/mcp.md), as providers without models. */
import { mcpProvider } from "../../domain/target-name.js";
import type { ProviderConfig } from "../config.js";
import { type DeclaredMcpServer, validFields } from "../file/config-file.js";
import { checkProviderName, checkSecrets, providerFromFields } from "./providers.js";

export function resolveMcpServers(
  declared: readonly DeclaredMcpServer[],
  problems: string[],
): readonly ProviderConfig[] {
  return declared.flatMap(({ path, name, fields }): ProviderConfig[] => {
    const before = problems.length;
    checkProviderName({ path, name }, problems);
    if (fields === null) return [];
    checkSecrets(path, fields, problems);
    const valid = problems.length > before ? null : validFields(fields);
    if (valid === null) return [];
    const { url, ...options } = valid;
    return [providerFromFields(mcpProvider(name), { ...options, type: "mcp", base_url: url })];
  });
}
