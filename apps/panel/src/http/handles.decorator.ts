import { applyDecorators, HttpCode, RequestMapping, RequestMethod, SetMetadata } from '@nestjs/common';
import { API_PREFIX, findRoute, type Route, type RouteName } from './routes.js';

/** Key of the metadata with the route of a handler. */
export const ROUTE = 'panel:route';

/**
 * Binds a method to an endpoint of the route table: its path, status and permission. Guards check the permission before the body is read.
 *
 * ```ts
 * @Handles('listSessions')
 * list(@Req() request: PanelRequest): Promise<SessionList> { … }
 * ```
 */
export function Handles(name: RouteName): MethodDecorator {
  const route: Route = findRoute(name);
  return applyDecorators(
    RequestMapping({ method: RequestMethod[route.method], path: `${API_PREFIX}${route.path}` }),
    HttpCode(route.status ?? 200),
    SetMetadata(ROUTE, route),
  );
}
