# SPDX-License-Identifier: Apache-2.0

"""Traps around the driver, and the tests that show that it avoids them.

C are in the values and objects of the chart. M are races and faults of
Magnum that reach a driver.
"""

from __future__ import annotations

_CLOUD = "unit.cloud"
_LIFECYCLE = "unit.lifecycle"
_FEATURES = "unit.features"

CHART: dict[str, tuple[str, ...]] = {
    "C1 Magnum's default network driver makes a cluster without network": (
        "unit.resolve.test_cluster.ResolveTest."
        "test_only_cnis_that_the_chart_knows_are_passed_on",
    ),
    "C2 metadata of one group reaches the next": (
        f"{_FEATURES}.test_nodes.MetadataTest.test_servers_say_whose_they_are",
    ),
    "C3 what a group wants to be false is lost": (
        f"{_FEATURES}.test_healing.GroupTest."
        "test_a_group_says_only_what_differs_from_the_cluster",
    ),
    "C4 a nodegroup has a name that the chart refuses or has itself": (
        "unit.model.test_names.NodeGroupTest."
        "test_every_name_is_valid_for_the_chart_and_not_cut",
    ),
    "C5 an object is looked for under a name that the chart has cut": (
        "unit.model.test_names.ObjectsTest."
        "test_a_long_name_is_cut_as_the_chart_cuts_it",
    ),
    "C6 a flavor's UUID is sent where a name is wanted": (
        f"{_CLOUD}.test_catalogue.CloudTest.test_a_flavor_by_name_and_by_id",
    ),
    "C7 values that can't change follow labels and options": (
        f"{_LIFECYCLE}.test_preview.PreviewTest."
        "test_changed_defaults_differ_in_nothing",
    ),
    "C8 name servers are where the chart does not look": (
        f"{_FEATURES}.test_networking.NetworksTest."
        "test_each_chart_version_has_its_place_for_name_servers",
    ),
    "C9 no addon is there yet, so all are deployed": (
        f"{_LIFECYCLE}.test_poll_status.ProgressTest."
        "test_an_addon_that_does_not_exist_yet_is_waited_for",
    ),
    "C10 a HelmChartProxy has no phase, and is waited for for ever": (
        "unit.kubernetes.test_kinds.AllTest."
        "test_the_driver_reads_no_kind_of_other_programs",
    ),
    "C11 no security groups means those of the cluster": (
        f"{_FEATURES}.test_networking.NetworksTest."
        "test_only_ports_in_extra_networks_lose_their_security",
    ),
    "C12 a volume type without a size is ignored": (
        f"{_FEATURES}.test_nodes.ClusterTest."
        "test_a_type_without_a_size_is_refused",
    ),
    "C13 status is read in one version of Cluster API alone": (
        "unit.status.test_cluster.CompleteTest."
        "test_a_recorded_cluster_is_complete_in_both_versions",
    ),
}

MAGNUM: dict[str, tuple[str, ...]] = {
    "M1 a nodegroup operation brings a deleted cluster back": (
        f"{_LIFECYCLE}.test_nodegroups_pending.DoomedTest."
        "test_no_request_about_a_group_brings_it_back",
    ),
    "M2 a failed cluster is not polled any more": (
        f"{_LIFECYCLE}.test_poll_health.RecoveryTest.test_a_failed_create_recovers",
    ),
    "M3 a refused rotation of the CA loses the references": (
        f"{_LIFECYCLE}.test_rotate_ca_back.RefusalTest."
        "test_a_cluster_that_is_not_healthy",
    ),
    "M4 two of four certificates are left behind": (
        f"{_CLOUD}.test_certificates.CertificatesTest."
        "test_the_two_that_magnum_forgets_are_deleted",
    ),
    "M5 a poll between two steps of a request": (
        f"{_LIFECYCLE}.test_nodegroups_pending.UnfinishedAddTest."
        "test_a_poll_between_two_steps_does_not_end_the_polls",
    ),
    "M6 two polls at once, on two hosts": (
        f"{_LIFECYCLE}.test_poll_status.LeaseTest."
        "test_a_held_lease_gives_no_verdict_and_no_warning",
    ),
    "M7 a create that ended half way": (
        f"{_LIFECYCLE}.test_delete.DeleteTest."
        "test_a_cluster_without_workers_is_deleted",
    ),
    "M9 an admin's context finds nothing": (
        f"{_LIFECYCLE}.test_nodegroups.AddTest."
        "test_a_group_of_another_project_is_the_clusters",
    ),
    "M10 names and labels are free text": (
        "unit.model.test_names.PropertiesTest."
        "test_every_name_is_valid_and_nothing_is_cut",
    ),
    "M11 labels are strings": (
        "unit.model.test_labels.ParseTest.test_a_value_has_the_type_of_its_label",
    ),
    "M13 users read texts of exceptions": (
        "unit.test_driver.FaultTest.test_no_secret_is_told_or_logged",
    ),
    "M14 another driver serves the same images": (
        "unit.test_driver.DriverTest."
        "test_magnum_loads_it_by_its_name_and_connects_to_nothing",
    ),
    "M15 rollback arrives as the scale manager": (
        f"{_LIFECYCLE}.test_upgrade_refusals.RefusalTest.test_a_rollback_by_magnum_is_refused",
    ),
    "M17 columns are short": (
        "unit.model.test_names.ReleaseTest."
        "test_every_release_leaves_room_for_what_the_chart_appends",
    ),
    "M18 nobody resumes what a conductor began": (
        f"{_LIFECYCLE}.test_create.InterruptedCreateTest."
        "test_a_poll_installs_a_create_killed_after_the_intent",
    ),
}
