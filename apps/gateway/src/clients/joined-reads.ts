interface Reading<Value> {
  current: Promise<Value>;
  next?: Promise<Value>;
}

/**
 * Reads by name, joined without loss of exactness: a caller joins only a read that has not been sent yet. So each name has at most one read
 * under way and one waiting, and a result is never older than the call that gets it.
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
