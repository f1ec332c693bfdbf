import { Controller, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import { upstreamProbe } from '#contracts/probe.js';
import { type ReplicaStatus, replicaStatus } from '#contracts/replica-status.js';
import { failedEveryCall, routeAdvice, routeState } from '#contracts/route-state.js';
import { type RouteStatus, routeStatus } from '#contracts/route-status.js';
import { sendEvents } from '../http/event-stream.js';
import { Handles, Input } from '../http/route.decorator.js';
import type { PanelRequest } from '../requests/panel-request.js';
import { Services } from '../services/services.js';
import { type ServicesReply, type UpstreamRoute, type UpstreamsReply, UpstreamTestRequest } from '../shapes/catalog.js';

/** Replicas answer at once; one that does not is down. */
const ANSWER_MS = 3_000;

@Controller()
export class UpstreamsController {
  constructor(private readonly services: Services) {}

  @Handles('listUpstreams')
  async list(): Promise<UpstreamsReply> {
    const replicas = await this.services.askEvery(routeStatus, {}, ANSWER_MS);
    const described = replicas.map((replica) => ({ ...replica, routes: replica.routes.map(describe) }));
    return { replicas: described.sort((one, other) => one.replica.localeCompare(other.replica)) };
  }

  @Handles('listServices')
  async listServices(): Promise<ServicesReply> {
    const replicas = await this.services.askEvery(replicaStatus, {}, ANSWER_MS);
    const place = ({ service, startedAt, process }: ReplicaStatus): string => `${service} ${startedAt} ${process}`;
    return { replicas: replicas.sort((one, other) => place(one).localeCompare(place(other))) };
  }

  /**
   * Sends some 30 small requests to the upstream, billed to no account; the catalog's journal names the caller. Only an upstream of the
   * catalog is tested: NATS lets the panel test no other. The test stops when the client disconnects.
   */
  @Handles('testUpstream')
  async test(
    @Req() request: PanelRequest,
    @Res() response: Response,
    @Input(UpstreamTestRequest) { upstreamId, model }: UpstreamTestRequest,
  ): Promise<void> {
    const left = new AbortController();
    response.once('close', () => left.abort());
    await sendEvents(response, this.services.stream(request, upstreamProbe, { upstreamId, model }, left.signal));
  }
}

/** Adds the words of the command line. */
function describe(route: RouteStatus): UpstreamRoute {
  const state = routeState(route);
  return { ...route, state, advice: state !== 'up' || failedEveryCall(route) ? routeAdvice(route) : null };
}
