/** placeholder until the real one lands */
export function simulateChat(_body: unknown, _model: string, _created: number): { plain: Buffer; events: readonly Buffer[]; pauseMs: number } {
  return { plain: Buffer.from("{}"), events: [], pauseMs: 10 };
}
