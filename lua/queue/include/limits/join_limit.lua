-- join_limit(ctx, id, score, limit, recheck_at_ms, tied): put a task into the queue of a limit, by its place.
-- recheck_at_ms: the new score of the queue in limit_lines, unless it is due earlier. The task may still expire. Its
-- fallback timer stops while it waits for the limit. write_joins stores where it waits.
local function join_limit(ctx, id, score, limit, recheck_at_ms, tied)
  local line = ctx.joins[limit.key]
  if not line then
    line = { due_ms = recheck_at_ms, rows = {} }
    ctx.joins[limit.key], ctx.joins[#ctx.joins + 1] = line, limit.key
  end
  line.due_ms = math.min(line.due_ms, recheck_at_ms)
  local rows, at = line.rows, #line.rows
  rows[at + 1], rows[at + 2] = score, id
  redis.call('HSET', task .. id, 'limited_by', limit.key)
  ctx.in_line[limit.key] = true
  if ctx.lane and recheck_at_ms < BAND then ctx.timed[ctx.lane] = true end
  if not tied then return end
  local own = redis.call('HMGET', task .. id, 'expires_at_ms', 'deliveries')
  redis.call('ZREM', deadlines, id)
  if own[1] and not own[2] then redis.call('ZADD', deadlines, own[1], id) end
end
