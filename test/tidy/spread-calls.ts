/**
 * Finds lists that are spread into calls: each item goes onto the stack, so a list from outside
 * ends in "Maximum call stack size exceeded".
 */

/** Where, in code without texts, `...` stands among the arguments of a call. */
export function spreadCalls(code: string): readonly number[] {
  const found: number[] = [];
  const open: { readonly bracket: string; readonly spreads: number[] }[] = [];
  for (let at = 0; at < code.length; at++) {
    const char = code[at]!;
    if ("([{".includes(char)) open.push({ bracket: char, spreads: [] });
    else if (")]}".includes(char)) {
      const { bracket, spreads } = open.pop() ?? { bracket: "", spreads: [] };
      // Else they are parameters.
      if (bracket === "(" && !/^\s*(?:=>|[:{])/.test(code.slice(at + 1, at + 40)))
        found.push(...spreads);
    } else if (code.startsWith("...", at)) {
      open.at(-1)?.spreads.push(at);
      at += 2;
    }
  }
  return found;
}
