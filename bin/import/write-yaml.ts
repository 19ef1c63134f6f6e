/** Writes plain values as YAML: blocks of mappings, with all else in flow style. Pure. */
import { isObject } from "../../shared/checked.js";

/** A mapping as the text of a file. */
export function writeYaml(value: Readonly<Record<string, unknown>>): string {
  return `${linesOf(value, "").join("\n")}\n`;
}

function linesOf(value: Readonly<Record<string, unknown>>, indent: string): readonly string[] {
  return Object.entries(value).flatMap(([name, item]) => {
    const key = `${indent}${keyOf(name)}:`;
    if (isObject(item) && Object.keys(item).length > 0)
      return [key, ...linesOf(item, `${indent}  `)];
    if (Array.isArray(item) && item.some(isObject))
      return [key, ...item.map((element: unknown) => `${indent}  - ${JSON.stringify(element)}`)];
    return [`${key} ${JSON.stringify(item)}`];
  });
}

function keyOf(name: string): string {
  return /^[A-Za-z][\w-]*$/.test(name) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(name)
    ? name
    : JSON.stringify(name);
}
