/** What is made of short texts that come again and again, such as names that callers send. */

/** Callers choose the texts: neither more of them are remembered, nor longer ones. */
const textsMax = 500;
const charsMax = 64;

/** `make`, which is a function of the text alone, called once for each text that is remembered. */
export function remembered<T extends NonNullable<unknown>>(
  make: (text: string) => T,
): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const made = make(text);
    if (text.length > charsMax) return made;
    if (known.size === textsMax) known.clear();
    known.set(text, made);
    return made;
  };
}
