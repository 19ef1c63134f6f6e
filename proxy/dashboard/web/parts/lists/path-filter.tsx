/** Which path's usage is shown; taken when the reader has finished typing it. */
import { useEffect, useState } from "preact/hooks";
import { usageTexts as texts } from "../../texts/usage-texts.js";
import { useApp } from "../app.js";
import { SearchField } from "../field.js";

export function PathFilter() {
  const { router } = useApp();
  const asked = router.place.value.query.get("path") ?? "";
  const [text, setText] = useState(asked);
  useEffect(() => setText(asked), [asked]);
  const take = (): void => {
    const path = text.trim();
    if (path === asked) return;
    // A path begins with a slash; whoever leaves it out means the same.
    router.setQuery({ path: path === "" || path.startsWith("/") ? path : `/${path}` });
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
      <SearchField label={texts.path} value={text} onInput={setText} />
    </form>
  );
}
