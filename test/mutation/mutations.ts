/**
 * The small faults that a mutation run plants in compiled code, one at a time: a comparison that
 * turns, a condition that is always so, a call that isn't made. Pure; `main.ts` runs the tests.
 */
import type { Node, Program } from "acorn";
import { parse } from "acorn";
import { ancestor } from "acorn-walk";

export interface Mutation {
  /** The part of the text that is replaced, and by what. */
  readonly start: number;
  readonly end: number;
  readonly put: string;
  /** What was done, such as `<= becomes <`. */
  readonly what: string;
  readonly line: number;
}

const turned: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "-": "+",
  "*": "/",
  "&&": "||",
  "||": "&&",
};

/** Calls whose absence or arguments change no result: texts for people, and assertions. */
const forPeople =
  /^(?:assert(?:Limiter)?|unreachable|log\.\w+|.*\.log\.\w+|.*\.(?:warn|info|error|debug))$/;

/** The end of an order: `a < b ? -1 : 1`, or `a < b ? -1 : a > b ? 1 : 0`. */
const order = /\? -1 : (?:1|[^?:]+ \? 1 : 0)$/;

/** Every mutation of a module, in the order of the text. */
export function mutationsOf(text: string): Mutation[] {
  const program = parse(text, { ecmaVersion: "latest", sourceType: "module", locations: true });
  const found: Mutation[] = [];
  const add = (node: Node, put: string, what: string): void => {
    const line = node.loc?.start.line ?? 0;
    found.push({ start: node.start, end: node.end, put, what, line });
  };
  const source = (node: Node): string => text.slice(node.start, node.end);
  const operator = (node: Node, left: Node, right: Node, written: string): void => {
    const put = turned[written];
    if (put === undefined) return;
    add(node, `${source(left)} ${put} ${source(right)}`, `${written} becomes ${put}`);
  };
  const always = (test: Node): void => {
    add(test, "true", "the condition is always true");
    add(test, "false", "the condition is always false");
  };
  const visitors = {
    BinaryExpression(node: Node & { left: Node; right: Node; operator: string }): void {
      operator(node, node.left, node.right, node.operator);
      if (node.operator === "+" && !isText(node.left) && !isText(node.right))
        add(node, `${source(node.left)} - ${source(node.right)}`, "+ becomes -");
    },
    LogicalExpression(node: Node & { left: Node; right: Node; operator: string }): void {
      operator(node, node.left, node.right, node.operator);
      if (node.operator === "??") add(node, `(${source(node.left)})`, "?? has no fallback");
    },
    UnaryExpression(node: Node & { argument: Node; operator: string }): void {
      if (node.operator === "!") add(node, `(${source(node.argument)})`, "! is left out");
    },
    Literal(node: Node & { value: unknown }): void {
      if (typeof node.value === "boolean") add(node, String(!node.value), "the boolean turns");
      else if (typeof node.value === "number") {
        const larger = String(node.value + 1);
        add(node, larger, `${node.value} becomes ${larger}`);
      }
    },
    IfStatement: (node: Node & { test: Node }): void => always(node.test),
    ConditionalExpression: (node: Node & { test: Node }): void => always(node.test),
    ExpressionStatement(node: Node & { expression: Node & { callee?: Node } }): void {
      const { callee } = node.expression;
      if (callee !== undefined && forPeople.test(source(callee))) return;
      if (source(node) !== '"use strict";') add(node, ";", "the statement is left out");
    },
  };
  ancestor(program as Program, withoutTextsForPeople(visitors, source));
  return found.sort((a, b) => a.start - b.start || a.end - b.end || (a.put < b.put ? -1 : 1));
}

type Visitor = (node: never) => void;
type AncestorVisitor = (node: Node, state: unknown, ancestors: Node[]) => void;

/**
 * Visitors that pass over what stands in assertions, in log calls and behind `throw`, and over the
 * 1 of an order's -1 and 1, of which the sign alone is read.
 */
function withoutTextsForPeople(
  visitors: Readonly<Record<string, Visitor>>,
  source: (node: Node) => string,
): Record<string, AncestorVisitor> {
  const isSign = (node: Node, around: Node & { test?: Node }): boolean =>
    around.type === "ConditionalExpression" &&
    node.start > around.test!.end &&
    order.test(source(around));
  const isForPeople = (node: Node & { callee?: Node }): boolean =>
    node.type === "ThrowStatement" ||
    node.type === "ImportDeclaration" ||
    (node.type === "CallExpression" && forPeople.test(source(node.callee!)));
  return Object.fromEntries(
    Object.entries(visitors).map(([type, visit]): [string, AncestorVisitor] => [
      type,
      (node, _state, ancestors) => {
        if (ancestors.some(isForPeople)) return;
        if (source(node) === "1" && ancestors.some((around) => isSign(node, around))) return;
        (visit as (node: Node) => void)(node);
      },
    ]),
  );
}

function isText(node: Node & { value?: unknown }): boolean {
  return node.type === "TemplateLiteral" || typeof node.value === "string";
}
