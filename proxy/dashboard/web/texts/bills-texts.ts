/** The words of the page of bills. */

export const billsTexts = {
  about: "What providers billed beside what Sluice recorded, as sluice reconcile --keep found it.",
  none: {
    title: "No bill compared yet",
    text: "sluice reconcile --provider openai --keep compares the last seven days, and puts the result here.",
  },
  title: (provider: string, from: string, to: string) => `${provider}, ${from} to ${to}`,
  source: (source: string) => `${source} bill, compared`,
  figures: { billed: "Billed", recorded: "Recorded", difference: "Difference", gap: "Gap" },
  causes: {
    caption: "Causes of the difference",
    columns: { cause: "Cause", amount: "Amount", advice: "What to do" },
    none: { title: "No difference", text: "The bill agrees with the records." },
  },
  models: {
    caption: "Models that differ",
    columns: { model: "Model", recorded: "Recorded", billed: "Billed", causes: "Causes" },
  },
  quantities: {
    caption: "Quantities that differ",
    columns: { model: "Model", kind: "Quantity", recorded: "Recorded", billed: "Billed" },
  },
  unknownLines: "Lines of the bill that aren't understood",
  prices: "The bill's rates, for your configuration",
  notes: "Notes",
  earlier: {
    caption: "Earlier results",
    columns: { bill: "Bill", billed: "Billed", recorded: "Recorded", gap: "Gap", time: "Compared" },
  },
};
