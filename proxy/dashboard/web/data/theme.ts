/** The theme that a user has chosen, and how the page applies it. */

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

/** `localStorage`; null if the browser forbids it. */
export type Memory = Pick<Storage, "getItem" | "setItem"> | null;

export const themeKey = "sluice.theme";

export function readTheme(memory: Memory): Theme {
  const keptTheme = memory?.getItem(themeKey);
  return themes.find((theme) => theme === keptTheme) ?? "system";
}

export function applyTheme(theme: Theme, root: HTMLElement): void {
  if (theme === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = theme;
}

/** Null if the browser forbids storage, which throws at the first access. */
export function browserMemory(): Memory {
  try {
    return localStorage;
  } catch {
    return null;
  }
}
