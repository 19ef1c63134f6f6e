/** Something that is to be done once after a while, however often it is asked for meanwhile. */
export class Later {
  readonly #schedule: (ms: number, run: () => void) => void;
  readonly #ms: number;
  readonly #run: () => void;
  #begun = false;

  constructor(schedule: (ms: number, run: () => void) => void, ms: number, run: () => void) {
    this.#schedule = schedule;
    this.#ms = ms;
    this.#run = run;
  }

  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#schedule(this.#ms, () => {
      this.#begun = false;
      this.#run();
    });
  }
}
