import { setTimeout as delay } from 'node:timers/promises';
import { panelInvite } from '#contracts/panel.js';
import type { Messaging } from '#messaging/messaging.js';

/** Milliseconds between two reads. */
const PAUSE_MS = 50;
/** Milliseconds between the last read through a panel and its signal, like the `preStop` pause of a pod. */
const LEAVE_MS = 250;

/** An admin whose page reads the accounts again and again, through the panels in turn: a session in Postgres, and billing over NATS. */
export class PanelReader {
  private readonly absent = new Set<string>();
  private readonly failures: string[] = [];
  private reads = 0;
  private isStopping = false;
  private readonly ended: Promise<void>;

  private constructor(
    private readonly panelUrls: Record<string, string>,
    private readonly cookie: string,
  ) {
    this.ended = this.readInTurn();
  }

  /** Makes the admin. `panelUrls`: the origin of each panel by its name. */
  static async start(administrator: Messaging, panelUrls: Record<string, string>): Promise<PanelReader> {
    const { link } = await administrator.request(panelInvite, { role: 'admin', email: 'admin@example.com' });
    const body = JSON.stringify({ token: link.replace(/^.*#/, ''), password: 'a quiet orange river' });
    const origin = Object.values(panelUrls)[0] ?? '';
    const headers = { origin, 'content-type': 'application/json' };
    const response = await fetch(`${origin}/panel/v1/invites/accept`, { method: 'POST', headers, body });
    if (response.status !== 201) throw new Error(await response.text());
    return new PanelReader(panelUrls, response.headers.get('set-cookie')?.split(';')[0] ?? '');
  }

  /** Runs `work` while no new read goes to this panel. */
  async without(panel: string, work: () => Promise<void>): Promise<void> {
    this.absent.add(panel);
    await delay(LEAVE_MS);
    await work();
    this.absent.delete(panel);
  }

  /** Returns the number of reads and the failures when the last has ended. */
  async stop(): Promise<{ reads: number; failures: string[] }> {
    this.isStopping = true;
    await this.ended;
    return { reads: this.reads, failures: this.failures };
  }

  private async readInTurn(): Promise<void> {
    for (; !this.isStopping; await delay(PAUSE_MS)) {
      const present = Object.entries(this.panelUrls).filter(([name]) => !this.absent.has(name));
      const [name, url] = present[this.reads++ % present.length] ?? [];
      const failure = await this.read(url ?? '').catch((error: unknown) => String(error));
      if (failure) this.failures.push(`${name}: ${failure}`);
    }
  }

  /** Returns why the read failed. */
  private async read(url: string): Promise<string | undefined> {
    const response = await fetch(`${url}/panel/v1/accounts`, { headers: { cookie: this.cookie } });
    const text = await response.text();
    return response.status === 200 ? undefined : `${response.status} ${text}`;
  }
}
