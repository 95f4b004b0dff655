-- resolve_requests(ctx, own, all): lead the pending requests of a change to whom they belong now: first back to those whose delegations do not
-- hold any more, then on, in the order of their slots. Only in this call: keep_moves writes it. all: the change is another, so all
-- conditions are tested. Returns the moves: { one, reviewer, chain, via, cut }, the request with where it was, and where it went back to.
local function resolve_requests(ctx, own, all)
  local places, moves = {}, {}
  if not ctx.settings.delegations and not ctx.delegates then return moves end
  if own.state ~= 'submitted' and own.state ~= 'reviewing' then return moves end
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    local person = one.status == 'pending' and string.match(one.reviewer, '^user:(.+)$')
    if person then
      local place = { one = one, reviewer = one.reviewer, chain = one.chain, via = one.via }
      if cut_chain(ctx, own, one, all) or all or is_late(ctx, person) then
        place.cut = { reviewer = one.reviewer, chain = one.chain, via = one.via }
        places[#places + 1] = place
      end
    end
  end
  for _, place in ipairs(places) do  -- at most 32: slots
    local one = place.one
    follow_delegations(ctx, own, one)
    if one.reviewer ~= place.reviewer or one.chain ~= place.chain or one.via ~= place.via then moves[#moves + 1] = place end
  end
  return moves
end
