import { Controller, Req, Res } from '@nestjs/common';
import { IsOptional } from 'class-validator';
import type { Response } from 'express';
import { Id } from '#contracts/billing/fields.js';
import { LiveRequests } from '../activity/live-requests.js';
import { LiveTail } from '../activity/live-tail.js';
import { Credentials } from '../http/credentials.js';
import { EVENT_STREAM_HEADERS } from '../http/event-stream.js';
import { Handles, Input } from '../http/route.decorator.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { visibleActivity } from './visible-activity.js';

/** Milliseconds between two pings. A session that is over ends the stream by then. */
export const PING_MS = 15_000;

class LiveQuery {
  /** Absent: the whole platform. */
  @IsOptional() @Id() accountId?: string;
  /** Only this project. */
  @IsOptional() @Id() projectId?: string;
}

@Controller()
export class LiveController {
  constructor(
    private readonly live: LiveRequests,
    private readonly credentials: Credentials,
  ) {}

  /**
   * Ends with the session or token. A client that reads too slowly gets `skipped` with a count. A person has six streams at once: the next
   * one ends the oldest.
   */
  @Handles('showLive')
  show(@Req() request: PanelRequest, @Res() response: Response, @Input(LiveQuery) { accountId, projectId }: LiveQuery): void {
    const { access, userId } = requireCaller(request);
    const tail = new LiveTail(response, accountId, (ended) => visibleActivity(access, ended), projectId);
    const end = (): void => {
      stop();
      response.end();
    };
    const giveWay = (): void => {
      tail.delayNextOpening();
      end();
    };
    const unwatch = this.live.watch({ userId, accountId, receive: (requests) => tail.send(requests), end, giveWay });
    const check = async (): Promise<void> => {
      const caller = await this.credentials.again(request);
      if (!caller?.access.may('requests.read', accountId ?? null, projectId)) end();
      else if (!response.destroyed) tail.ping();
    };
    const timer = setInterval(() => void check().catch(end), PING_MS);
    const stop = (): void => {
      clearInterval(timer);
      unwatch();
    };
    response.once('close', stop);
    response.writeHead(200, EVENT_STREAM_HEADERS);
    tail.ping();
  }
}
