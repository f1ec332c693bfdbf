import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { StackInfo } from '#testing/stack.js';
import type { Crawl, CrawlOrder, CrawlStep } from '../simulation/crawl.js';
import type { CrawlerStart } from './crawler.js';

/** The service `crawler` with its items, in a process that may be killed. */
export class CrawlerProcess {
  kills = 0;
  private readonly open = new Map<string, { crawl: Crawl; end: () => void }>();

  private constructor(
    private readonly where: CrawlerStart,
    private child: ChildProcess,
  ) {}

  static async start({ natsUrl, natsPasswords }: Pick<StackInfo, 'natsUrl' | 'natsPasswords'>): Promise<CrawlerProcess> {
    const where = { natsUrl, password: natsPasswords.crawler };
    const child = launch();
    const crawler = new CrawlerProcess(where, child);
    await crawler.begin();
    return crawler;
  }

  /** Resolves when the crawl has ended, or its process was killed. */
  crawl(order: CrawlOrder): Promise<Crawl> {
    const crawl: Crawl = { order, steps: [], isCut: false };
    return new Promise((resolve) => {
      this.open.set(order.holdId, { crawl, end: () => resolve(crawl) });
      // An order that a dying process does not get is cut off as the others are.
      this.child.send(order, () => undefined);
    });
  }

  /** Sends SIGKILL, and starts the service anew. It knows nothing of its crawls then. */
  async kill(): Promise<void> {
    this.kills += 1;
    const { child } = this;
    const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
    child.kill('SIGKILL');
    await ended; // all that it told is read then
    const cut = [...this.open.values()];
    this.open.clear();
    this.child = launch();
    for (const { crawl, end } of cut) {
      crawl.isCut = true;
      end();
    }
    await this.begin();
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }

  private async begin(): Promise<void> {
    const { child } = this;
    const ready = new Promise<void>((resolve) => {
      child.on('message', (message: CrawlStep | 'ready') => (message === 'ready' ? resolve() : this.note(message)));
    });
    child.send(this.where);
    await ready;
  }

  private note(step: CrawlStep): void {
    const known = this.open.get(step.holdId);
    known?.crawl.steps.push(step);
    if (step.step !== 'done') return;
    this.open.delete(step.holdId);
    known?.end();
  }
}

function launch(): ChildProcess {
  return fork(fileURLToPath(new URL('crawler.ts', import.meta.url)), { execArgv: ['--no-warnings'], env: { PATH: process.env.PATH } });
}
