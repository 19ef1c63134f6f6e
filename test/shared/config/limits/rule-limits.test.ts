import fc from "fast-check";
import t from "tap";
import {
  parseCompactLimits,
  type RuleLimit,
} from "../../../../shared/config/limits/rule-limits.js";
import { anyText } from "../../../support/any-text.js";

function parse(text: string): {
  readonly limits: readonly RuleLimit[];
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  return { limits: parseCompactLimits(text, "SET_RATE_LIMIT_X", problems), problems };
}

const limit = (
  periodSeconds: number,
  maxRequests: number | null,
  maxTokens: number | null,
): RuleLimit => ({ periodSeconds, maxRequests, maxTokens });

t.test("a compact list is read in all its spellings", async (t) => {
  for (const [text, limits] of [
    ["rpm=100", [limit(60, 100, null)]],
    ["rpm=100,tpm=5000", [limit(60, 100, 5000)]],
    ["tpm:5000;rpm:100", [limit(60, 100, 5000)]],
    ["rpm = 100\n  TPM : 5000\n", [limit(60, 100, 5000)]],
    ["rph=1,tph=2", [limit(3600, 1, 2)]],
    ["rpd=1,tpd=2", [limit(86_400, 1, 2)]],
    ["Concurrent=8", [limit(0, 8, null)]],
    ["tpd=9,concurrent=8,rpm=7", [limit(0, 8, null), limit(60, 7, null), limit(86_400, null, 9)]],
    ["rpm=1,rpm=2", [limit(60, 2, null)]],
    [",, rpm=1 ;;\r\n", [limit(60, 1, null)]],
    ["rpm=007", [limit(60, 7, null)]],
    [`rpm=${Number.MAX_SAFE_INTEGER}`, [limit(60, Number.MAX_SAFE_INTEGER, null)]],
    ["", []],
    [" \n;,", []],
  ] as const) {
    t.same(parse(text), { limits, problems: [] }, JSON.stringify(text));
  }
});

t.test("every wrong pair is reported with its variable", async (t) => {
  const problem: readonly (readonly [text: string, problem: string])[] = [
    ["100", 'SET_RATE_LIMIT_X must hold pairs such as rpm=100, not "100"'],
    ["rpn=1", 'SET_RATE_LIMIT_X holds the unknown key "rpn"; did you mean rpm?'],
    [
      "requests=1",
      'SET_RATE_LIMIT_X holds the unknown key "requests": expected rpm, tpm, rph, tph, rpd, tpd, itpm, otpm, itph, otph, itpd, otpd, concurrent, enqueued',
    ],
    [
      "=1",
      'SET_RATE_LIMIT_X holds the unknown key "": expected rpm, tpm, rph, tph, rpd, tpd, itpm, otpm, itph, otph, itpd, otpd, concurrent, enqueued',
    ],
    [
      "constructor=1",
      'SET_RATE_LIMIT_X holds the unknown key "constructor": expected rpm, tpm, rph, tph, rpd, tpd, itpm, otpm, itph, otph, itpd, otpd, concurrent, enqueued',
    ],
    ["rpm=0", 'SET_RATE_LIMIT_X: rpm must be greater than 0, not "0"'],
    ["RPM=-5", 'SET_RATE_LIMIT_X: rpm must be greater than 0, not "-5"'],
    ["tpd=", 'SET_RATE_LIMIT_X: tpd must be an integer from 1 to 9007199254740991, not ""'],
    ["tpd=1.5", 'SET_RATE_LIMIT_X: tpd must be an integer from 1 to 9007199254740991, not "1.5"'],
    ["tpd=1e3", 'SET_RATE_LIMIT_X: tpd must be an integer from 1 to 9007199254740991, not "1e3"'],
    ["rpm=1=2", 'SET_RATE_LIMIT_X: rpm must be an integer from 1 to 9007199254740991, not "1=2"'],
    [
      "rpm=9007199254740992",
      'SET_RATE_LIMIT_X: rpm must be an integer from 1 to 9007199254740991, not "9007199254740992"',
    ],
  ];
  for (const [text, expected] of problem) t.same(parse(text).problems, [expected], text);
  t.same(
    parse(problem.map(([text]) => text).join(",")).problems,
    problem.map(([, expected]) => expected),
    "all at once",
  );
});

const cap = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const names = { 60: ["rpm", "tpm"], 3600: ["rph", "tph"], 86400: ["rpd", "tpd"] } as const;

/** Limits that the compact form can express, shortest period first, as the parser returns them. */
const limits = fc
  .record({
    0: fc.option(fc.tuple(cap, fc.constant(null))),
    60: fc.option(fc.tuple(cap, fc.option(cap))),
    3600: fc.option(fc.tuple(fc.option(cap), cap)),
    86400: fc.option(fc.tuple(cap, fc.option(cap))),
  })
  .map((byPeriod) =>
    Object.entries(byPeriod).flatMap(([period, caps]) =>
      caps === null ? [] : [limit(Number(period), caps[0], caps[1])],
    ),
  );

function format(items: readonly RuleLimit[], separator: string, sign: string): string {
  return items
    .flatMap(({ periodSeconds, maxRequests, maxTokens }) => {
      const [requests, tokens] =
        periodSeconds === 0 ? ["concurrent", ""] : names[periodSeconds as keyof typeof names];
      return [
        ...(maxRequests === null ? [] : [`${requests}${sign}${maxRequests}`]),
        ...(maxTokens === null ? [] : [`${tokens}${sign}${maxTokens}`]),
      ];
    })
    .reverse()
    .join(separator);
}

t.test("whatever limits are written as a list are read back the same", async () => {
  fc.assert(
    fc.property(
      limits,
      fc.constantFrom(",", ";", "\n", " , "),
      fc.constantFrom("=", ":", " = "),
      (items, separator, sign) => {
        const { limits: read, problems } = parse(format(items, separator, sign));
        return problems.length === 0 && JSON.stringify(read) === JSON.stringify(items);
      },
    ),
  );
});

t.test("no text makes the parser throw, and every limit it returns is valid", async () => {
  const pieces = fc
    .array(
      fc.constantFrom(
        "rpm",
        "TPM",
        "concurrent",
        "enqueued",
        "=",
        ":",
        ",",
        ";",
        "\n",
        " ",
        "0",
        "1",
        "99999999999999999999",
        "-",
        "x",
        "é",
        "__proto__",
      ),
    )
    .map((items) => items.join(""));
  fc.assert(
    fc.property(fc.oneof(anyText(), pieces, fc.constant("enqueued=1")), (text) => {
      for (const { periodSeconds, maxRequests, maxTokens, measureCaps } of parse(text).limits) {
        const caps = [maxRequests, maxTokens, ...Object.values(measureCaps ?? {})].filter(
          (cap) => cap !== null,
        );
        if (caps.length === 0) return false;
        if (!caps.every((cap) => Number.isSafeInteger(cap) && cap > 0)) return false;
        if (periodSeconds === 0 && maxTokens !== null) return false;
      }
      return true;
    }),
  );
});
