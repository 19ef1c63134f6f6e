/** The initial configuration that `sluice init` writes. Pure. */

/** A provider whose key is in the environment. */
interface FoundProvider {
  readonly name: string;
  readonly keyVariable: string;
}

/** `masterKey` was generated for this file. */
export function starterFile(found: readonly FoundProvider[], masterKey: string): string {
  const providers =
    found.length === 0
      ? [
          "# providers:",
          "#   openai: { api_key: ${OPENAI_API_KEY} }   # in a block, quotes aren't needed",
        ]
      : [
          "providers:",
          ...found.flatMap(({ name, keyVariable }) => [
            `  ${name}:`,
            `    api_key: \${${keyVariable}}`,
          ]),
        ];
  return `# Sluice's configuration: docs/reference/configuration.md has every setting, and
# \`sluice config check\` says what is wrong.

server:
  # Whoever has it may do everything; give your programs keys of their own: sluice keys issue.
  master_key: ${masterKey}

# A provider whose key is in the environment is there without a line here.${found.length === 0 ? " Without any, a\n# simulator answers." : ""}
${providers.join("\n")}

# rate_limits:
#   user_paths:
#     - path: /team
#       limits:
#         - { period: minute, max_requests: 100, max_tokens: 200000 }
#         - { period: concurrent, max_requests: 10 }

# budgets:
#   user_paths:
#     - path: /team
#       limits:
#         - { period: monthly, amount: 50 }   # US dollars
`;
}
