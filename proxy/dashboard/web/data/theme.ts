/** The theme that a reader has chosen, and how the page is told. */

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

/** As `localStorage`; null where the browser keeps nothing. */
export type Memory = Pick<Storage, "getItem" | "setItem"> | null;

export const themeKey = "sluice.theme";

export function readTheme(memory: Memory): Theme {
  const kept = memory?.getItem(themeKey);
  return themes.find((theme) => theme === kept) ?? "system";
}

export function applyTheme(theme: Theme, root: HTMLElement): void {
  if (theme === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = theme;
}

/** Null where the browser forbids it, which throws at the first look. */
export function browserMemory(): Memory {
  try {
    return localStorage;
  } catch {
    return null;
  }
}
