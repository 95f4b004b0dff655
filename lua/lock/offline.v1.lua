-- lock.offline.v1: end all holds and waits of an owner, or of all owners of an agent, at once, and hand over to the
-- next waiters. Later requests are not affected. If the call is sent again with its rid, it returns the same answer and
-- does not touch newer requests. It ends at most 100 requests, fewer if they have many locks; more=1: there are more,
-- call again with a new rid.
--
-- ARGV   rid       id
-- ARGV   who       id
-- ARGV   by        enum owner|agent ?=owner
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int ended:ids more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.released lock.promoted lock.expired lock.cancelled
-- ROLE   work
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   8 + 3n commands if no request waits; at most 570 commands, 14,000 steps
-- EARLY  members_below

local memory = '#offline:' .. rid
local ctx, refused = open_domain({ memory })
if refused then return refused end
end_due(ctx, 16)
local more, list = string.match(record_of(ctx, memory) or '', '^ended offline ([01])(.*)$')
local ended = {}
if more then
  for one in string.gmatch(list, '%S+') do ended[#ended + 1] = one end
else
  local members = members_below((by == 'agent' and 'a ' or 'o ') .. who, 101)
  more = members[101] and '1' or '0'
  local seen, work = {}, 1000
  for i = 1, math.min(#members, 100) do
    if work <= 0 then
      more = '1'
      break
    end
    local its_rid = string.match(members[i], '^.* (%S+)$')
    if not seen[its_rid] then
      seen[its_rid] = true
      work = work - 4 - #live_request(ctx, its_rid).parts
      leave(ctx, its_rid)
      ended[#ended + 1] = its_rid
    end
  end
  remember(ctx, memory, 'offline ' .. more .. ' ' .. table.concat(ended, ' '))
  promote_freed(ctx)
end
close_domain(ctx)
return { 'ok', ctx.now, ended, tonumber(more) }
