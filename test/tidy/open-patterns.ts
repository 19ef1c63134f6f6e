/**
 * Finds lists in the patterns of `t.match`: there a list says nothing of what comes after its last
 * item, so that an item too many passes. `exactly` makes a pattern of as many items.
 */

/** The name of a field, or a text that is put together. */
const isElse = /^\[[^[\]]*\](?::|\.join\()/;

/**
 * Where, in code without texts, a list stands in the pattern of a `t.match`. In parentheses it is
 * something else's: an argument, as of `exactly`, or nothing to spread.
 */
export function openPatterns(code: string): readonly number[] {
  const found: number[] = [];
  for (const { index, 0: call } of code.matchAll(/\bt\.match\(/g)) {
    const open: string[] = [];
    let argument = 0;
    for (let at = index + call.length; at < code.length; at++) {
      const char = code[at]!;
      // Behind a name, or another bracket, it is a place in a list, or part of a type.
      const isList =
        char === "[" && !/[\w)\]}!]/.test(code[at - 1]!) && !isElse.test(code.slice(at));
      if (isList && argument === 1 && !open.includes("(")) found.push(at);
      if ("([{".includes(char)) open.push(char);
      else if (char === "," && open.length === 0) argument++;
      else if (")]}".includes(char) && open.pop() === undefined) break;
    }
  }
  return found;
}
