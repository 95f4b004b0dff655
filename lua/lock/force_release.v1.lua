-- lock.force_release.v1: take a resource away from its holders: from all, or from one owner. For operators, with a
-- reason. The holders get `revoked`. The fence in the answer is above theirs, so that other systems can refuse lower
-- ones. If the call is sent again with its rid, it returns the same answer and does not touch the next holders. It ends
-- at most 100 holds; more=1: there are more.
--
-- ARGV   rid       id
-- ARGV   resource  id
-- ARGV   owner     id             ?=
-- ARGV   reason    bytes 1..200
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int fence:int released:ids more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.released lock.promoted lock.expired lock.cancelled
-- ROLE   operate
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   8 + 3n commands if no request waits; at most 570 commands, 11,000 steps
-- EARLY  members_below next_fence read_request

local ctx, refused = open_domain({ '#forced:' .. rid })
if refused then return refused end
end_due(ctx, 16)
local stored, more, list = string.match(record_of(ctx, '#forced:' .. rid) or '', '^ended forced (%d+) ([01])(.*)$')
local rids = {}
if stored then
  for one in string.gmatch(list, '%S+') do rids[#rids + 1] = one end
else
  local held = owner ~= '' and 'o ' .. owner .. ' h ' .. resource or 'r ' .. resource .. ' h'
  local members = members_below(held, 101)
  more = members[101] and '1' or '0'
  local work = 1000
  for i = 1, math.min(#members, 100) do
    if work <= 0 then
      more = '1'
      break
    end
    rids[i] = string.match(members[i], '^.* (%S+)$')
    local request = read_request(record_of(ctx, rids[i]))
    work = work - 4 - #request.parts
    end_request(ctx, rids[i], request, 'revoked ' .. reason, 'lock.released', ' by=force reason=' .. reason)
  end
  stored = next_fence(ctx)
  remember(ctx, '#forced:' .. rid, 'forced ' .. stored .. ' ' .. more .. ' ' .. table.concat(rids, ' '))
  promote_freed(ctx)
end
close_domain(ctx)
return { 'ok', ctx.now, tonumber(stored), rids, tonumber(more) }
