-- refuse_reassign(own, one): the answer if this call cannot do what it wants with this request, or nil.
local function refuse_reassign(own, one)
  if operation ~= 'add' and not one then return { 'not_eligible', 'no_request' } end
  if operation == 'dismiss' and one.by == '' then return { 'not_eligible', 'not_answered' } end
  if operation == 'move' and one.status ~= 'pending' then return { 'not_eligible', 'answered' } end
  if operation == 'add' and #slots_of(own) == 32 then return { 'full' } end
  if not can_be_asked(own, reviewer) then
    local may_write = text_of(own, 'p_contributors_may_vote') == '1'
    return { 'not_eligible', not may_write and has_written(own.id, { string.sub(reviewer, 6) }) and 'contributor' or 'answered' }
  end
  if operation == 'remove' then
    local counts = count_slots(own)
    local left = counts.approved + counts.pending + counts.changes_requested
    if one.status ~= 'rejected' and one.status ~= 'abstained' then left = left - 1 end
    if left < number_of(own, 'p_required') then return { 'unreachable', number_of(own, 'p_required'), left } end
  end
end
