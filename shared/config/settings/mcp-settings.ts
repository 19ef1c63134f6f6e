/**
 * The fields of an MCP server in the file: its address, and those of a provider that concern the
 * connection to it.
 */
import { webUrl } from "../kinds/url-kinds.js";
import { type ProviderFields, providerSettings } from "./provider-settings.js";

const {
  api_key,
  api_keys,
  api_key_file,
  api_key_command,
  headers,
  forward_headers,
  proxy,
  proxy_file,
  ca_file,
  connect_timeout_ms,
  first_byte_timeout_ms,
  idle_timeout_ms,
  max_connections,
} = providerSettings;

/** By the key in the file, under `mcp_servers.<name>`; beside them `url`. */
export const mcpOptions = {
  api_key,
  api_keys,
  api_key_file,
  api_key_command,
  headers,
  forward_headers: {
    ...forward_headers,
    meaning: "Further headers of callers that Sluice forwards, besides those of MCP.",
  },
  proxy,
  proxy_file,
  ca_file,
  connect_timeout_ms,
  first_byte_timeout_ms,
  idle_timeout_ms: {
    ...idle_timeout_ms,
    defaultValue: 3_600_000,
    defaultText: "3600000",
    meaning: "Longest silence within an answer or a stream of notifications.",
  },
  max_connections: {
    ...max_connections,
    meaning: "Connections of one proxy to the server.",
  },
} as const;

export const mcpSettings = {
  url: {
    kind: webUrl,
    defaultText: null,
    example: "https://mcp.example.com/mcp",
    meaning: "Address of its endpoint for streamable HTTP.",
  },
  ...mcpOptions,
} as const;

/** The checked fields of one server, by their keys in the file. */
export type McpFields = { readonly url: string } & Pick<ProviderFields, keyof typeof mcpOptions>;
