/** The command lines that import a key with its limits. Pure. */
import type { Fields, KeyToImport } from "./imported-values.js";

/** The command lines of one key, without the program's name. */
export function commandsOf({ hash, key, rules, budgets }: KeyToImport): readonly string[][] {
  const { user_path: path, name, models, expires_at: expires } = key;
  const flags = rules.flatMap(({ max_requests, max_tokens, limit_key }) =>
    (limit_key as { readonly period: string }).period === "concurrent"
      ? ["--concurrent", String(max_requests)]
      : [
          ...(max_requests === undefined ? [] : ["--rpm", String(max_requests)]),
          ...(max_tokens === undefined ? [] : ["--tpm", String(max_tokens)]),
        ],
  );
  return [
    ...(flags.length === 0 ? [] : [["limits", "set", path, ...flags]]),
    ...budgets.map(({ subject, budget_key, amount }) => {
      const { period, period_seconds } = budget_key as Fields;
      const periodFlag = period === undefined ? "--period-seconds" : "--period";
      return [
        ...["budgets", "set", String(subject), periodFlag, String(period ?? period_seconds)],
        ...["--amount", String(amount)],
      ];
    }),
    [
      ...["keys", "issue", "--hash", hash, "--path", path],
      ...(typeof name === "string" ? ["--name", name] : []),
      ...(Array.isArray(models) ? ["--model", ...(models as string[])] : []),
      ...(typeof expires === "string" ? ["--expires", expires] : []),
    ],
  ];
}
