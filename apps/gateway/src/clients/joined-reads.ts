interface Reading<Value> {
  current: Promise<Value>;
  next?: Promise<Value>;
}

/**
 * Joins concurrent reads of one name. A caller joins only a read that has not been sent yet, so a result is never older than the call. Each
 * name has at most one read in flight and one waiting.
 */
export class JoinedReads<Value> {
  private readonly readings = new Map<string, Reading<Value>>();

  constructor(private readonly read: (name: string) => Promise<Value>) {}

  get(name: string): Promise<Value> {
    const reading = this.readings.get(name);
    if (reading === undefined) return this.send(name);
    const sendNext = (): Promise<Value> => this.send(name);
    reading.next ??= reading.current.then(sendNext, sendNext);
    return reading.next;
  }

  private send(name: string): Promise<Value> {
    const reading: Reading<Value> = { current: this.read(name) };
    this.readings.set(name, reading);
    const end = (): void => {
      if (reading.next === undefined) this.readings.delete(name);
    };
    reading.current.then(end, end);
    return reading.current;
  }
}
