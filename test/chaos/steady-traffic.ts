import { setTimeout as delay } from 'node:timers/promises';
import { pacedRequest, type Story, tell } from './chaos-client.js';
import { CLIENT_FORMATS, type FormatName } from './client-format.js';

/** Milliseconds between the last request to a gateway and its signal, like the `preStop` pause of a pod: requests on the way arrive. */
const LEAVE_MS = 250;

const KINDS = (Object.keys(CLIENT_FORMATS) as FormatName[]).flatMap((format) => [true, false].map((stream) => ({ format, stream })));

/**
 * Six clients, one for each format, streamed and plain. Each sends one request after another, to the gateways in turn; with `perSecond`, so
 * many requests of all kinds a second, however long they take.
 */
export class SteadyTraffic {
  private readonly stories: Story[] = [];
  private readonly absent = new Set<string>();
  private isStopping = false;
  private readonly clients: Promise<unknown>;

  /** `gatewayUrls`: the URL of each gateway by its name. */
  constructor(
    private readonly gatewayUrls: Record<string, string>,
    private readonly key: Story['key'],
    { perSecond }: { perSecond?: number } = {},
  ) {
    this.clients = perSecond === undefined ? Promise.all(KINDS.map((_, kind) => this.sendInTurn(kind))) : this.sendAtRate(perSecond);
  }

  /** Runs `work` while no new request goes to this gateway; those that run on it go on. */
  async without(gateway: string, work: () => Promise<void>): Promise<void> {
    this.absent.add(gateway);
    await delay(LEAVE_MS);
    await work();
    this.absent.delete(gateway);
  }

  /** Returns all requests when the last has ended. */
  async stop(): Promise<Story[]> {
    this.isStopping = true;
    await this.clients;
    return this.stories;
  }

  private async sendInTurn(kind: number): Promise<void> {
    for (let count = 0; !this.isStopping; count++) await this.send(kind, count);
  }

  private async sendAtRate(perSecond: number): Promise<void> {
    const running = new Set<Promise<void>>();
    const beganAt = performance.now();
    for (let count = 0; !this.isStopping; count++) {
      const sent = this.send(count % KINDS.length, Math.floor(count / KINDS.length));
      running.add(sent);
      void sent.then(() => running.delete(sent));
      await delay(Math.max(0, beganAt + ((count + 1) * 1_000) / perSecond - performance.now()));
    }
    await Promise.all(running);
  }

  private async send(kind: number, count: number): Promise<void> {
    const { format, stream } = KINDS[kind] as (typeof KINDS)[number];
    const urls = Object.entries(this.gatewayUrls).flatMap(([name, url]) => (this.absent.has(name) ? [] : url));
    // Every other request takes so long that some run on each replica at its end.
    const tokens = count % 2 === 0 ? 30 : 4;
    const name = `${format}-${stream ? 'streamed' : 'plain'}-${count}`;
    const story = pacedRequest(name, this.key, urls[(kind + count) % urls.length] ?? '', { format, stream, tokens });
    this.stories.push(story);
    await tell(story);
  }
}
