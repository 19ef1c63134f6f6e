/** Examples of each command, with which its help begins. */
import type { Command } from "commander";

export const examples: Readonly<Record<string, readonly string[]>> = {
  "": [
    "sluice up",
    "sluice limits set /team --rpm 100",
    "sluice keys issue --path /team --name CI",
  ],
  up: ["sluice up", "sluice up --port 9000 --verbose"],
  limits: ["sluice limits list", "sluice limits set /team --rpm 100 --concurrent 8"],
  "limits list": [
    "sluice limits list --for /team/app",
    "sluice limits list --sort used",
    "sluice limits list --upstream",
  ],
  "limits set": [
    "sluice limits set /team --rpm 100 --tpm 50000 --concurrent 8",
    "sluice limits set openai --scope provider --period-seconds 300 --requests 1000",
  ],
  "limits test": ["sluice limits test /team --rpm 60 --tpm 20000 --days 14"],
  "limits export": ["sluice limits export > limits.yaml"],
  "limits apply": [
    "sluice limits apply limits.yaml --dry-run --exit-code",
    "sluice limits apply limits.yaml --prune --yes",
  ],
  "limits raise": [
    "sluice limits raise /team --rpm 200 --for 2h --reason launch",
    "sluice limits raise /team --period minute --end",
  ],
  "limits delete": ["sluice limits delete /team --period minute"],
  "limits enforce": ["sluice limits enforce /team --period minute"],
  "limits revert": ["sluice limits revert /team --period minute"],
  "limits reset": ["sluice limits reset /team --period minute", "sluice limits reset --all"],
  budgets: ["sluice budgets list", "sluice budgets set /team --monthly 50"],
  "budgets list": ["sluice budgets list --path /team/app"],
  "budgets set": [
    "sluice budgets set /team/app --daily 1 --monthly 20",
    "sluice budgets set research --scope label --weekly 250",
    "sluice budgets set /agents --session 5",
  ],
  "budgets raise": [
    "sluice budgets raise /team --period daily --amount 50 --for 2h --reason launch",
  ],
  "budgets delete": ["sluice budgets delete /team/app --period daily"],
  "budgets revert": ["sluice budgets revert /team/app --period daily"],
  "budgets reset": ["sluice budgets reset /team --period daily"],
  "budgets forecast": ["sluice budgets forecast --check"],
  "budgets settings": ["sluice budgets settings --monthly-reset-day 15"],
  keys: ["sluice keys issue --path /team/app --name CI", "sluice keys list"],
  "keys list": ["sluice keys list --unused 30d", "sluice keys list --path /team --status active"],
  "keys issue": [
    "sluice keys issue --path /team/app --name CI --expires 90d > ci.key",
    "sluice keys issue --path /users/ann --monthly 20",
    "sluice keys issue --path /team/app --value-file old.key",
    "sluice keys issue --role operator --path /team --name ann > ann.key",
  ],
  "keys show": ["sluice keys show key_1"],
  "keys rotate": ["sluice keys rotate key_1 --overlap 1h > ci.key"],
  "keys deactivate": ["sluice keys deactivate key_3"],
  "keys delete": ["sluice keys delete key_3"],
  jwts: ["sluice jwts deny --sub ann --expires 12h", "sluice jwts list"],
  "jwts deny": ["sluice jwts deny --jti 8c7f1d9e --expires 1h"],
  "jwts allow": ["sluice jwts allow --jti 8c7f1d9e"],
  "jwts list": ["sluice jwts list"],
  explain: [
    "sluice explain --path /team/app --model smart",
    "sluice explain --request req_w1nNqJv0c3bYxT8u00000t",
  ],
  usage: [
    "sluice usage --path /team --by model",
    "sluice usage --month 2026-10 --by key",
    "sluice usage --by hour",
  ],
  "usage export": ["sluice usage export --format csv --days 30 --output month.csv"],
  "usage follow": [
    "sluice usage follow --to postgres://sluice@db.example/usage --create-table",
    "sluice usage follow --to ndjson --output /var/log/sluice/usage.ndjson --once",
  ],
  "usage reprice": [
    "sluice usage reprice --from 2026-11-01 --dry-run",
    "sluice usage reprice --from 2026-11-01 --to 2026-11-30 --model openai/gpt-4o",
  ],
  reconcile: [
    "sluice reconcile --provider openai --days 7 --fail-above 1% --keep",
    "sluice reconcile --provider vertex --bill billing-export.jsonl",
    "sluice reconcile --provider openai --project proj_a=team-a --project proj_b=team-b",
  ],
  status: ["sluice status", "sluice status --url https://gateway.example"],
  top: ["sluice top"],
  tail: ["sluice tail --path /team --slow 5s", "sluice tail --refused --json"],
  tenants: ["sluice tenants", "sluice tenants --sort runs-out", "sluice tenants --path /customers"],
  tenant: ["sluice tenant /customers/acme", "sluice tenant /customers/acme --month"],
  "in-flight": ["sluice in-flight --older 10m"],
  queues: ["sluice queues"],
  request: ["sluice request req_w1nNqJv0c3bYxT8u00000t"],
  requests: ["sluice requests --kind failed", "sluice requests --search /team --limit 100"],
  audit: ["sluice audit --last 7d", "sluice audit --subject /team --who key_1 --json"],
  sessions: ["sluice sessions --path /team --last 7d"],
  reload: ["sluice reload"],
  backup: [
    "sluice backup /var/backups/sluice/monday.mdb",
    "sluice backup --keep 7 /var/backups/sluice",
  ],
  restore: ["sluice restore /var/backups/sluice/monday.mdb"],
  verify: ["sluice verify", "sluice verify --minutes 10 --seed 0x5eed"],
  "verify-store": ["sluice verify-store", "sluice verify-store /var/backups/sluice/monday.mdb"],
  providers: ["sluice providers list", "sluice providers check"],
  "providers list": ["sluice providers list"],
  "providers traffic": ["sluice providers traffic --last 15m"],
  "providers check": ["sluice providers check openai"],
  alerts: ["sluice alerts test"],
  "alerts test": ["sluice alerts test"],
  prices: ["sluice prices update"],
  "prices update": ["sluice prices update", "sluice prices update ./prices.json"],
  doctor: ["sluice doctor", "sluice doctor --offline --strict --bundle report.json"],
  config: ["sluice config check", "sluice config show --changed"],
  "config check": ["sluice config check --config sluice.yaml"],
  "config show": ["sluice config show --changed"],
  "config schema": ["sluice config schema > sluice.schema.json"],
  init: ["sluice init"],
  import: ["sluice import litellm config.yaml --output sluice.yaml"],
  "import litellm": [
    "sluice import litellm config.yaml --output sluice.yaml",
    "sluice import litellm --keys keys.csv --apply",
  ],
  "import one-api": ["sluice import one-api export --output sluice.yaml"],
  "import new-api": [
    "sluice import new-api export --output sluice.yaml",
    "sluice import new-api export --keys --apply",
  ],
  completion: ["source <(sluice completion bash)", "sluice completion fish | source"],
  man: ["sluice man | man -l -"],
  "exit-codes": ["sluice exit-codes"],
};

/** Puts its examples before the help of each command below `command`, and its own. */
export function addExamples(command: Command, name = ""): void {
  const lines = examples[name];
  if (lines !== undefined)
    command.addHelpText("before", `Examples:\n${lines.map((line) => `  ${line}`).join("\n")}\n`);
  for (const child of command.commands) addExamples(child, `${name} ${child.name()}`.trim());
}
