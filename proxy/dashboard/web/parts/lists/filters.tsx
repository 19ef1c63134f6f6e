/** The filters of a list. The address contains them; changing one returns to the first page. */
import { useEffect, useRef, useState } from "preact/hooks";
import { usageTexts as texts } from "../../texts/usage-texts.js";
import { useApp } from "../app.js";
import { SearchField } from "../field.js";

/** The pause in typing after which a request is sent. */
const typingPauseMs = 250;

/** The parameter `search` of the query. */
export function SearchFilter({ label }: { readonly label: string }) {
  const { router } = useApp();
  const search = router.place.value.query.get("search") ?? "";
  const { text, setText, asked } = useTyped(search);
  useEffect(() => {
    if (text === search) return;
    const timer = setTimeout(() => {
      asked.current = text;
      router.setQuery({ search: text, after: null }, { keepHistory: false });
    }, typingPauseMs);
    return () => clearTimeout(timer);
  }, [text, search, router]);
  return <SearchField label={label} value={text} onInput={setText} />;
}

/**
 * A text of the address, and the text that is being typed. The browser's own buttons change the
 * address, too; text that was typed after the last change stays.
 */
function useTyped(current: string) {
  const [text, setText] = useState(current);
  const asked = useRef(current);
  useEffect(() => {
    if (current !== asked.current) setText(current);
    asked.current = current;
  }, [current]);
  return { text, setText, asked };
}

interface FilterSelectProps {
  /** The parameter of the query. */
  readonly name: string;
  readonly label: string;
  /** Values with their labels; "" is the one without a parameter. */
  readonly options: readonly (readonly [value: string, text: string])[];
}

/** A filter with a few values. */
export function FilterSelect({ name, label, options }: FilterSelectProps) {
  const { router } = useApp();
  return (
    <select
      class="input fit"
      aria-label={label}
      value={router.place.value.query.get(name) ?? ""}
      onChange={(event) => router.setQuery({ [name]: event.currentTarget.value, after: null })}
    >
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** A user path and all below it. */
export function PathFilter() {
  return <TextFilter name="path" label={texts.path} normalize={withSlash} />;
}

/** Adds a missing slash at the beginning of a path. */
function withSlash(path: string): string {
  return path === "" || path.startsWith("/") ? path : `/${path}`;
}

interface TextFilterProps {
  /** The parameter of the query. */
  readonly name: string;
  readonly label: string;
  /** Converts the typed text to the value of the parameter. */
  readonly normalize?: (text: string) => string;
}

export function TextFilter({ name, label, normalize = (text) => text }: TextFilterProps) {
  const { router } = useApp();
  const current = router.place.value.query.get(name) ?? "";
  const { text, setText, asked } = useTyped(current);
  const take = (): void => {
    const value = normalize(text.trim());
    asked.current = value;
    setText(value);
    if (value !== current) router.setQuery({ [name]: value, after: null });
  };
  return (
    <form
      class="search-form"
      onSubmit={(event) => {
        event.preventDefault();
        take();
      }}
      onFocusOut={take}
    >
      <SearchField label={label} value={text} onInput={setText} />
    </form>
  );
}
