/**
 * Holds the schemas of requests in `docs/openapi.json` to the functions that check the bodies: none
 * that a schema allows is refused for its shape, and none with a fault gets past.
 */
import fc from "fast-check";
import t from "tap";
import { HeldLimitFiles } from "../../../../limiterd/handlers/limit-files/held-limit-files.js";
import { parseMove, parseRemoval } from "../../../../limiterd/handlers/limit-files/parse-move.js";
import { parseBackTest } from "../../../../limiterd/rules/back-tests/back-tests.js";
import { parseExportPage } from "../../../../limiterd/usage/usage-query.js";
import { explainRequest } from "../../../../proxy/handlers/admin/explain-request.js";
import { repriceUsage } from "../../../../proxy/usage/reprice-usage.js";
import { parseReconciliation } from "../../../../shared/api/reconciliation-item.js";
import { type Checked, good, isObject, parseConfirmation } from "../../../../shared/checked.js";
import {
  budgetGrammar,
  parseBudgetKey,
  parseBudgetResetOne,
  parseBudgetWrite,
} from "../../../../shared/domain/budget.js";
import { parseJwtDenial, parseJwtName } from "../../../../shared/domain/jwt-denial.js";
import { parseKeyRotation } from "../../../../shared/domain/key-rotation.js";
import { parseKeyIssue, takeImportedKey } from "../../../../shared/domain/managed-key.js";
import {
  parseBudgetRaise,
  parseRaiseEnd,
  parseRuleRaise,
} from "../../../../shared/domain/raise.js";
import { defaultAnchors, parseAnchors } from "../../../../shared/domain/reset-anchors.js";
import {
  parseRuleKey,
  parseRuleResetOne,
  parseRuleWrite,
  ruleGrammar,
} from "../../../../shared/domain/rule.js";
import { invalid } from "../../../../shared/error-code.js";
import { applyLimits } from "../../../../shared/limit-files/apply-limits.js";
import { anyBody, faultsOf } from "../../../support/openapi/any-body.js";
import { operations, resolved, type Schema } from "../../../support/openapi/document.js";
import { problemsOf } from "../../../support/openapi/schemas.js";
import { fakeGateway, operator, served } from "../../fake-gateway.js";

type Fields = Record<string, unknown>;
type Check = (body: unknown) => Checked<unknown> | Promise<Checked<unknown>>;

const entitled = { perChildEntitled: true, useProblem: () => null };
const fake = fakeGateway('providers: { one: { type: simulator, models: ["*"] } }');
Object.assign(fake.gateway.limiter, { call: () => Promise.resolve({ ok: true, body: {} }) });

async function checkQuestion(body: unknown): Promise<Checked<unknown>> {
  const question = { path: "/admin/explain", body: JSON.stringify(body), caller: operator };
  const { status, body: answer } = await served(fake, explainRequest, question);
  const { message, param } = answer as { readonly message: string; readonly param: string };
  return status === 400 ? { ok: false, failure: invalid(message, param) } : good(answer);
}

/** Whether a file is taken, piece by piece. */
async function checkLimits(body: unknown): Promise<Checked<unknown>> {
  const held = new HeldLimitFiles();
  const done = await applyLimits(body, {
    call: async (op, asked) => {
      if (op !== "limits.stage") return { ok: true, body: emptyPlan };
      const taken = held.take(asked, entitled);
      return taken.ok ? { ok: true, body: {} } : taken;
    },
    newId: () => "file",
  });
  return done.ok ? good(done.plan) : done;
}

const emptyPlan = { changes: [], counts: {}, revision: "", next: null };

/** By `operationId`. */
const checks: Readonly<Record<string, Check>> = {
  writeRule: (body) => {
    const move = parseMove(ruleGrammar, body);
    return move.ok ? parseRuleWrite(move.value.body, entitled) : move;
  },
  testRule: (body) => parseBackTest(body, entitled),
  deleteRule: (body) => {
    const removal = parseRemoval(body);
    return removal.ok ? parseRuleKey(removal.value.body) : removal;
  },
  applyLimits: checkLimits,
  raiseRule: parseRuleRaise,
  endRuleRaise: (body) => parseRaiseEnd(ruleGrammar, body),
  resetRule: parseRuleResetOne,
  resetRules: parseConfirmation,
  writeBudget: (body) => {
    const move = parseMove(budgetGrammar, body);
    return move.ok ? parseBudgetWrite(move.value.body, entitled) : move;
  },
  deleteBudget: (body) => {
    const removal = parseRemoval(body);
    return removal.ok ? parseBudgetKey(removal.value.body) : removal;
  },
  raiseBudget: parseBudgetRaise,
  endBudgetRaise: (body) => parseRaiseEnd(budgetGrammar, body),
  resetBudget: parseBudgetResetOne,
  resetBudgets: parseConfirmation,
  writeResetAnchors: (body) => parseAnchors(body, defaultAnchors),
  issueKey: (body) => {
    const taken = takeImportedKey(body);
    return taken.ok ? parseKeyIssue(taken.value.key, 0) : taken;
  },
  rotateKey: parseKeyRotation,
  denyJwt: (body) => parseJwtDenial(body, 0),
  allowJwt: parseJwtName,
  explain: checkQuestion,
  keepReconciliation: parseReconciliation,
  repriceUsage: (body) =>
    repriceUsage(
      {
        pricesAt: () => fake.gateway.prices,
        call: (_op, page) => {
          const asked = parseExportPage(page);
          return Promise.resolve(asked.ok ? good({ ...emptyPage, ...asked.value }) : asked);
        },
      },
      body,
    ),
};

const emptyPage = { records: [], next: null, progress: 1, server_time: "" };

const described = operations.flatMap(({ path, operation: { operationId: id, requestBody } }) =>
  path.startsWith("/admin") && requestBody !== undefined
    ? [{ id, schema: requestBody.content["application/json"]!.schema }]
    : [],
);

/** What fields mean together, which the document says in words. */
const inWords =
  /can't be combined with (?:role|when|the scope|the period|max_requests 0|on_exhausted warn|the mode shadow|shares|models|on_exhausted)|hold hard needs|max_requests must be greater than 0, not 0$|is required for|is for user-path|token_weights needs|max_tool_calls needs|max_enqueued_tokens needs|loops needs|refuse_after(?:_turns)? must be at least|names tools and models|can't name tools|can't be combined with rolling|is for (?:daily|monthly),|needs a period of|must be the IANA name|must differ from when.from|covers the whole week|is there twice$|have changed since|must not be after end_date/;

/** In the bodies of a rule or a budget null counts as left out, as the document says. */
function asRead(id: string, body: unknown): unknown {
  if (
    !/^(?:write|delete|reset|test|raise|end)(?:Rule|Budget)(?:Raise)?$/.test(id) ||
    !isObject(body)
  )
    return body;
  const fields = Object.entries(body).filter(
    ([name, value]) => value !== null || ["replaces", "after", "days", "revision"].includes(name),
  );
  return Object.fromEntries(fields.map(([name, value]) => [name, asRead(id, value)]));
}

async function problemOf(id: string, body: unknown): Promise<string | null> {
  const checked = await checks[id]!(body);
  return checked.ok ? null : checked.failure.message;
}

t.test("every request of the admin API with a body is checked here", async (t) => {
  t.same(described.map(({ id }) => id).toSorted(), Object.keys(checks).toSorted());
});

t.test("a body is refused for its shape if, and only if, its schema forbids it", async (t) => {
  for (const { id, schema } of described) {
    const seen = { right: 0, wrong: 0 };
    await fc.assert(
      fc.asyncProperty(anyBody(schema), async (body) => {
        const isRight = problemsOf(schema, asRead(id, body)).length === 0;
        const problem = await problemOf(id, body);
        seen[isRight ? "right" : "wrong"]++;
        return isRight ? problem === null || inWords.test(problem) : problem !== null;
      }),
      { numRuns: 100 },
    );
    t.not(seen.right, 0, id);
  }
});

/** A body of which every field counts: `subject` has `user_path` overlooked. */
function withoutOverlooked(body: Fields): Fields {
  const { user_path: path, replaces, ...rest } = body;
  return {
    ...rest,
    ...(body["subject"] === undefined && path !== undefined ? { user_path: path } : {}),
    ...(replaces === undefined ? {} : { replaces: withoutOverlooked(replaces as Fields) }),
  };
}

/** `max_tool_calls` needs models that name tools, as no sample does. */
function withoutToolCalls(schema: Schema): Schema {
  const whole = resolved(schema);
  const { max_tool_calls: calls, ...properties } = (whole["properties"] ?? {}) as Fields;
  if (calls === undefined) return schema;
  const choices = ((whole["anyOf"] ?? []) as readonly Schema[]).filter(
    (choice) => !JSON.stringify(choice).includes("max_tool_calls"),
  );
  return { ...whole, properties, ...(choices.length === 0 ? {} : { anyOf: choices }) };
}

/** Right bodies of a schema, always the same: one for each choice of fields. */
async function rightBodies(id: string, schema: Schema): Promise<readonly Fields[]> {
  const right = new Map<string, Fields>();
  for (const body of fc.sample(anyBody(withoutToolCalls(schema)), { numRuns: 3000, seed: 31 })) {
    const counted = withoutOverlooked(body as Fields);
    const fields = Object.keys(counted).toSorted().join();
    if (!right.has(fields) && (await problemOf(id, counted)) === null) right.set(fields, counted);
  }
  return [...right.values()];
}

t.test("a body with one fault that its schema forbids is a 400 that names the field", async (t) => {
  for (const { id, schema } of described) {
    const wrong = new Set<string>();
    const fields = new Set<string>();
    for (const right of await rightBodies(id, schema))
      for (const { body, field, fault } of faultsOf(schema, right)) {
        fields.add(field);
        if (JSON.stringify(asRead(id, body)) !== JSON.stringify(body)) continue;
        const checked = await checks[id]!(body);
        const named = checked.ok ? "nothing" : (checked.failure.param ?? "none");
        if (named !== field && !named.startsWith(`${field}[`))
          wrong.add(`${field} with ${fault} in ${JSON.stringify(right)} is named ${named}`);
      }
    t.same([...wrong].slice(0, 5), [], id);
    const known = Object.keys(resolved(schema)["properties"] as object);
    t.same(
      // No sample has the name of a time zone, or weights with few decimals.
      known.filter(
        (name) =>
          !/^(?:per_child|host_only|time_zone|token_weights|max_tool_calls)$/.test(name) &&
          !fields.has(name),
      ),
      [],
      `each field of ${id} had a fault`,
    );
  }
});
