/** The initial configuration that `sluice init` writes. Pure. */

/** A provider whose key is in the environment. */
interface DetectedProvider {
  readonly name: string;
  readonly keyVariable: string;
}

/** The path whose direct children are tenants, and what each may spend in a month. */
export interface TenantLimits {
  readonly path: string;
  readonly monthlyUsd: number;
}

/** `masterKey` was generated for this file. `tenants`: null for a commented-out example. */
export function starterFile(
  detected: readonly DetectedProvider[],
  masterKey: string,
  tenants: TenantLimits | null,
): string {
  const providers =
    detected.length === 0
      ? [
          "# providers:",
          "#   openai: { api_key: ${OPENAI_API_KEY} }   # in a block, quotes aren't needed",
        ]
      : [
          "providers:",
          ...detected.flatMap(({ name, keyVariable }) => [
            `  ${name}:`,
            `    api_key: \${${keyVariable}}`,
          ]),
        ];
  return `# Sluice's configuration: docs/reference/configuration.md has every setting, and
# \`sluice config check\` says what is wrong.

server:
  # Whoever has it may do everything; give your programs keys of their own: sluice keys issue.
  master_key: ${masterKey}

# A provider whose key is in the environment is there without a line here.${detected.length === 0 ? " Without any, a\n# simulator answers." : ""}
${providers.join("\n")}

${limitsOf(tenants)}`;
}

function limitsOf(tenants: TenantLimits | null): string {
  const { path, monthlyUsd } = tenants ?? { path: "/customers", monthlyUsd: 10 };
  const quoted = /^[\w./-]+$/.test(path) ? path : JSON.stringify(path);
  const lines = `entitlements: [quota_templates]   # allows per_child

# Each path below ${path}, such as ${path === "/" ? "" : path}/acme, is a tenant with limits of its own.
rate_limits:
  user_paths:
    - path: ${quoted}
      per_child: true
      limits:
        - { period: minute, max_requests: 60, max_tokens: 200000 }
        - { period: concurrent, max_requests: 10 }

budgets:
  user_paths:
    - path: ${quoted}
      per_child: true
      limits:
        - { period: monthly, amount: ${monthlyUsd} }   # US dollars
`;
  return tenants === null ? lines.replace(/^(?!#|$)/gm, "# ") : lines;
}
