-- keep_moves(ctx, own, moves, only): undo the moves of resolve_requests, and write that of this request: the others are found again by the next
-- call. If a person gets it who has another one still, by a delegation that does not hold any more, then that one goes back. only: a request,
-- `all`, or nil for none.
local function keep_moves(ctx, own, moves, only)
  local wanted, kept = nil, {}
  for _, move in ipairs(moves) do  -- at most 32: slots
    local one = move.one
    move.to = { reviewer = one.reviewer, chain = one.chain, via = one.via }
    one.reviewer, one.chain, one.via = move.reviewer, move.chain, move.via
    if one == only then wanted = move end
  end
  for _, move in ipairs(moves) do  -- at most 32: slots
    if only == 'all' or move == wanted then
      kept[#kept + 1] = move
    elseif wanted and shares_person(move, wanted.to) then
      move.to = move.cut
      kept[#kept + 1] = move
    end
  end
  for _, move in ipairs(kept) do  -- at most 32: slots
    local one, to = move.one, move.to
    move.stays = to.reviewer == one.reviewer and to.chain == one.chain
    if not move.stays then leave_place(own, one) end
  end
  for _, move in ipairs(kept) do  -- at most 32: slots
    local one, to = move.one, move.to
    if move.stays then
      keep_principals(own, one, one, to.chain, to.via)
      one.via, own.list_changed = to.via, true
      redis.call('HSET', requests .. own.id .. '/' .. one.slot, 'via', (string.gsub(to.via, '>', ',')))
    else
      take_place(ctx, own, one, to.reviewer, to.chain, to.via)
      record_led(ctx, own, one, move.reviewer)
    end
  end
end
