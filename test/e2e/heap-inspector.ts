/** Returns the variables of a Node process that `HeapInspector` can connect to. */
export function inspectedOn(port: number): Record<string, string> {
  return { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` };
}

/** Inspects the heap of a Node process over its inspector. */
export class HeapInspector {
  private ids = 0;
  private readonly waiting = new Map<number, (result: unknown) => void>();

  private constructor(private readonly socket: WebSocket) {
    socket.addEventListener('message', ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown };
      this.waiting.get(id ?? -1)?.(result);
      this.waiting.delete(id ?? -1);
    });
  }

  static async connect(port: number): Promise<HeapInspector> {
    const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as { webSocketDebuggerUrl: string }[];
    const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', reject);
    });
    return new HeapInspector(socket);
  }

  /** Live bytes after a garbage collection, external buffers included. */
  async liveBytes(): Promise<number> {
    await this.call('HeapProfiler.collectGarbage');
    const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())';
    const { result } = (await this.call('Runtime.evaluate', { expression })) as { result: { value: number } };
    return result.value;
  }

  close(): void {
    this.socket.close();
  }

  private call(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.ids;
    this.socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }
}
