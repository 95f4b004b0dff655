-- promote(ctx, freed, left): grant what can be granted to the waiters of a resource, first come first served, a run of
-- shared waiters together. At most `left` grants and ends. Returns how many are left, and, if that was too much for a
-- call, the place up to which all had their turn. The obstacle of a waiter is the same in all its lines, so it is found
-- once (ctx.tried) until another one is granted. ctx.looks: how much may be done.
local function promote(ctx, freed, left)
  local line, most, skipped, had = 'r ' .. freed.resource .. ' q ', 64, 0, left
  local low, high = '(' .. line .. freed.from .. '!', '(' .. line .. '~'
  ctx.looks = ctx.looks - 5
  if freed.gone < 64 then
    local first = redis.call('ZRANGE', graph, low, high, 'BYLEX', 'LIMIT', 0, 1)[1]
    if not first then return left end
    -- a shared waiter may pass 63 shared waiters. So if n shared requests left, the last n of the first 64 may be granted
    if string.find(first, '^r %S+ q %S+ s ') then most, skipped = freed.gone, 64 - freed.gone end
  end
  local members = redis.call('ZRANGE', graph, low, high, 'BYLEX', 'LIMIT', skipped, most)
  ctx.looks = ctx.looks - math.ceil(#members / 8)
  for i, member in ipairs(members) do
    local order, code, rid = string.match(member, '^r %S+ q (%S+) (%S+) %S+ (%S+)$')
    local tried = ctx.tried[rid] -- those whose records change meanwhile leave the line
    if not tried then
      tried = { request = read_request(record_of(ctx, rid)) }
      tried.over = tonumber(redis.call('ZSCORE', deadlines, rid)) <= ctx.now
      ctx.tried[rid] = tried
      ctx.looks = ctx.looks - 2 - #tried.request.parts
    end
    local request = tried.request
    if tried.over then
      end_wait(ctx, rid, request)
      left, ctx.looks = left - 1, ctx.looks - 10 - 4 * #request.parts
    elseif tried.left ~= left then
      tried.left = left
      tried.obstacle, tried.held = find_obstacle(ctx, request, order)
      if not tried.obstacle then
        hand_over(ctx, rid, request)
        left, ctx.looks = left - 1, ctx.looks - 2 - 12 * #request.parts
      end
    end
    if not tried.over and tried.obstacle and (code ~= 's' or (tried.held and tried.obstacle == freed.resource)) then return left end
    if left == 0 or ctx.looks <= 0 then return left, order end
    if i == most and (skipped == 0 or left < had) then return left, order end -- those behind may follow
  end
  return left
end
