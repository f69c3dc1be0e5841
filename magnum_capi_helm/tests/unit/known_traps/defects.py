# SPDX-License-Identifier: Apache-2.0

"""What has gone wrong elsewhere, and the tests that it can't go wrong here.

Each trap is followed by a test that shows the right behaviour, named from
the package of the tests on. Of magnum-capi-helm 1.4.0, B are defects in what
it does, and P those in how long it takes. Of what is around the driver, C are
in the values and objects of the chart, and M are races and faults of Magnum
that reach a driver.
"""

from __future__ import annotations

_CLOUD = "unit.cloud"
_LIFECYCLE = "unit.lifecycle"
_CREDENTIALS = "unit.credentials"
_FEATURES = "unit.features"

DEFECTS: dict[str, tuple[str, ...]] = {
    "B1 an allow list that the chart ignores leaves the API open": (
        f"{_FEATURES}.test_api_server.ApiServerTest."
        "test_no_chart_leaves_the_api_open",
    ),
    "B2 a nodegroup that is being deleted comes back": (
        f"{_LIFECYCLE}.test_nodegroups_pending.DeleteTest."
        "test_a_deleted_group_stays_away_after_other_requests",
    ),
    "B3 of two changes at once the older one wins": (
        f"{_LIFECYCLE}.test_nodegroups_pending.UnfinishedAddTest."
        "test_two_adds_at_once_both_succeed",
    ),
    "B3 a busy release fails the operation": (
        f"{_LIFECYCLE}.test_resize.ResizeTest."
        "test_a_busy_lease_or_silence_does_not_fail_it",
    ),
    "B3 a helm that died leaves the release pending for ever": (
        f"{_LIFECYCLE}.test_poll_status_apply.ApplyTest."
        "test_a_pending_revision_is_waited_for_then_given_up",
    ),
    "B4 complete before the controllers have looked": (
        "unit.status.test_messages.VerdictsTest."
        "test_verdicts_of_each_generation_have_these_messages",
    ),
    "B4 complete in the middle of a rollout": (
        "unit.status.test_cluster.NewConditionsTest."
        "test_a_group_that_moves_is_not_done_whatever_it_counts",
    ),
    "B5 an update of the node count is complete at once": (
        f"{_LIFECYCLE}.test_resize.ResizeTest."
        "test_an_update_of_the_node_count_is_a_resize",
    ),
    "B6 an addon that fails once fails the cluster for good": (
        f"{_LIFECYCLE}.test_poll_status.ProgressTest."
        "test_a_failed_addon_is_named_until_it_recovers",
    ),
    "B7 no reason in words": (
        f"{_LIFECYCLE}.test_poll_status.ProgressTest."
        "test_a_machine_without_a_host_is_named_with_its_reason",
    ),
    "B8 in progress for ever": (
        f"{_LIFECYCLE}.test_poll_status.TimeoutTest."
        "test_an_overdue_create_fails_with_the_lowest_reason",
    ),
    "B9 nobody looks which versions an upgrade leads to": (
        "unit.chart.test_upgrade_rules.RulesTest.test_each_rule_refuses_its_versions_alone",
    ),
    "B9 an upgrade that is refused has changed rows": (
        f"{_LIFECYCLE}.test_upgrade_refusals.RefusalTest."
        "test_an_unfit_template_is_refused",
    ),
    "B10 another default moves the chart of a living cluster": (
        f"{_LIFECYCLE}.test_poll_status_apply.ApplyTest."
        "test_a_changed_default_reaches_no_cluster_by_a_resize",
    ),
    "B11 a credential is leaked when Keystone fails at the deletion": (
        f"{_LIFECYCLE}.test_delete.HinderedDeleteTest."
        "test_a_deletion_waits_for_a_refusing_keystone",
    ),
    "B11 a credential is looked for at the wrong user": (
        f"{_CREDENTIALS}.test_rotation.RotateTest."
        "test_another_user_becomes_the_owner",
    ),
    "B11 controllers keep a credential that is gone": (
        f"{_CREDENTIALS}.test_validity.HandOverTest."
        "test_not_before_its_copy_in_the_cluster_is_deployed_again",
    ),
    "B11 a credential has the role admin": (
        f"{_LIFECYCLE}.test_create.CreateTest."
        "test_the_credential_is_the_users_own_and_never_admin",
    ),
    "B11 machines get an address of Keystone that they don't reach": (
        f"{_CLOUD}.test_catalogue.CloudTest.test_keystone_as_machines_reach_it",
    ),
    "B12 the Keystone webhook has the caller's project": (
        f"{_FEATURES}.test_authentication.KeystoneTest."
        "test_the_policy_has_the_clusters_project",
    ),
    "B13 a group of an autoscaled cluster can't have a minimum of 0": (
        f"{_FEATURES}.test_autoscaling.GroupTest."
        "test_zero_is_sent_to_charts_that_can_do_it",
    ),
    "B13 the count that the autoscaler chose is not shown": (
        f"{_LIFECYCLE}.test_autoscaler_counts.FollowTest."
        "test_the_count_follows_the_autoscaler",
    ),
    "B13 one autoscaler for all versions of Kubernetes": (
        f"{_FEATURES}.test_autoscaling.AutoscalerTest."
        "test_its_version_fits_kubernetes",
    ),
    "B14 two nodegroups share their machines": (
        f"{_LIFECYCLE}.test_nodegroups.AddTest."
        "test_names_that_1_4_0_took_for_one_are_two_groups",
    ),
    "B14 a name that nobody checked fails in helm": (
        "unit.model.test_names.PropertiesTest."
        "test_every_name_is_valid_and_nothing_is_cut",
    ),
    "B15 a label with a wrong value is changed and not refused": (
        f"{_LIFECYCLE}.test_create_bad_inputs.RefusedTest."
        "test_each_is_refused_with_its_text_and_leaves_no_trace",
    ),
    "B15 most of the chart is out of reach": (
        "unit.resolve.test_operator_files.OverlayFilesTest."
        "test_files_come_in_order_and_profiles_on_top",
    ),
    "B16 an arbitrary volume type is the default class": (
        f"{_FEATURES}.test_storage.FoundClassesTest."
        "test_volume_types_become_classes_and_none_is_a_guess",
    ),
    "B16 a cloud without volume types is a crash": (
        f"{_FEATURES}.test_storage.FoundClassesTest."
        "test_volume_types_become_classes_and_none_is_a_guess",
    ),
    "B17 a flavor that is not there has too little memory": (
        f"{_LIFECYCLE}.test_create_bad_inputs.RefusedTest."
        "test_each_is_refused_with_its_text_and_leaves_no_trace",
    ),
    "B17 an image that is gone is a crash": (
        f"{_LIFECYCLE}.test_create_bad_inputs.RefusedTest."
        "test_each_is_refused_with_its_text_and_leaves_no_trace",
    ),
    "B17 a condition that is well when false reads as an illness": (
        "unit.status.test_health.HealthTest.test_each_case_has_its_status_and_reason",
    ),
}

PACE: dict[str, tuple[str, ...]] = {
    "P1 a management cluster that hangs hangs every poll": (
        "unit.kubernetes.test_connection.RequestTest."
        "test_a_server_that_does_not_answer_is_a_time_out",
    ),
    "P2 a helm that hangs hangs for ever": (
        "unit.helm.test_command.ProcessTest."
        "test_the_deadline_ends_helm_and_all_that_it_started",
    ),
    "P2 the chart is downloaded by every operation": (
        "unit.helm.test_charts.FetchTest."
        "test_a_chart_in_the_store_is_never_fetched",
    ),
    "P2 manifests are in the log": (
        "unit.helm.test_client.ComplaintsTest."
        "test_a_long_complaint_is_cut_and_in_no_cause",
    ),
    "P3 each poll connects anew, and asks for each object": (
        f"{_LIFECYCLE}.test_poll_status.CostTest."
        "test_a_poll_takes_eight_requests_and_saves_nothing",
    ),
    "P4 one kind that is not served hides another": (
        "unit.kubernetes.test_client.DiscoveryTest."
        "test_an_optional_kind_that_is_not_served_has_no_objects",
    ),
    "P4 the second page of a list is a crash": (
        "unit.kubernetes.test_client.ListTest.test_all_pages_are_read",
    ),
    "P5 OpenStack is asked the same thing again and again": (
        f"{_CLOUD}.test_catalogue.CloudTest.test_flavors_are_asked_for_once",
    ),
}

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
        "unit.kubernetes.test_kinds.KindsTest."
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
        f"{_LIFECYCLE}.test_poll_status.ProgressTest."
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
        "unit.test_driver.DriverTest.test_no_secret_is_told_or_logged",
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

ALL = DEFECTS | PACE | CHART | MAGNUM
