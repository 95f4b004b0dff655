-- new_request(ctx, parts): a request for these locks that neither holds nor waits yet.
local function new_request(ctx, parts)
  return {
    state = 'held', owner = owner, agent = agent ~= '' and agent or owner, priority = priority, since_ms = ctx.now,
    born_ms = born_ms > 0 and born_ms or ctx.now, ttl_ms = ttl_ms > 0 and ttl_ms or ctx.settings.lease_ms,
    until_ms = ctx.now + wait_ms, order = '-', granted_ms = 0, parts = parts, purpose = purpose,
  }
end
