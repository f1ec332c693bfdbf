import { setTimeout as delay } from 'node:timers/promises';
import { pacedRequest, type Story, tell } from './chaos-client.js';
import { CLIENT_FORMATS, type FormatName } from './client-format.js';

/** Milliseconds between the last request to a gateway and its signal, like the `preStop` pause of a pod: requests on the way arrive. */
const LEAVE_MS = 250;

/** Six clients, one for each format, streamed and plain. Each sends one request after another, to the gateways in turn. */
export class SteadyTraffic {
  private readonly stories: Story[] = [];
  private readonly absent = new Set<string>();
  private isStopping = false;
  private readonly clients: Promise<unknown>;

  /** `gatewayUrls`: the URL of each gateway by its name. */
  constructor(
    private readonly gatewayUrls: Record<string, string>,
    private readonly key: Story['key'],
  ) {
    const formats = Object.keys(CLIENT_FORMATS) as FormatName[];
    this.clients = Promise.all(formats.flatMap((format) => [true, false].map((stream) => this.send(format, stream))));
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

  private async send(format: FormatName, stream: boolean): Promise<void> {
    for (let count = 0; !this.isStopping; count++) {
      const urls = Object.entries(this.gatewayUrls).flatMap(([name, url]) => (this.absent.has(name) ? [] : url));
      // Every other request takes so long that some run on each replica at its end.
      const tokens = count % 2 === 0 ? 30 : 4;
      const story = pacedRequest(`${format}-${count}`, this.key, urls[count % urls.length] ?? '', { format, stream, tokens });
      this.stories.push(story);
      await tell(story);
    }
  }
}
