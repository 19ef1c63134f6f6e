/** What a page is filtered by that is typed whole: taken when the reader has finished typing it. */
import { useEffect, useState } from "preact/hooks";
import { usageTexts as texts } from "../../texts/usage-texts.js";
import { useApp } from "../app.js";
import { SearchField } from "../field.js";

/** A user path and all below it. */
export function PathFilter() {
  return <TextFilter name="path" label={texts.path} meant={withSlash} />;
}

/** A path begins with a slash; whoever leaves it out means the same. */
function withSlash(path: string): string {
  return path === "" || path.startsWith("/") ? path : `/${path}`;
}

interface TextFilterProps {
  /** Of the query's parameter. */
  readonly name: string;
  readonly label: string;
  /** What is meant by what was typed. */
  readonly meant?: (text: string) => string;
}

export function TextFilter({ name, label, meant = (text) => text }: TextFilterProps) {
  const { router } = useApp();
  const asked = router.place.value.query.get(name) ?? "";
  const [text, setText] = useState(asked);
  useEffect(() => setText(asked), [asked]);
  const take = (): void => {
    const typed = meant(text.trim());
    if (typed !== asked) router.setQuery({ [name]: typed, after: null });
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
